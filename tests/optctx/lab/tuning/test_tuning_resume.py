"""Studies that are interrupted, killed, damaged or forged."""

from __future__ import annotations

import contextlib
import functools
import json
import pathlib
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from optctx.compiling import Job
from optctx.errors import Interrupted, OptctxError
from optctx.lab.trials import TrialFile
from optctx.lab.tuning import Instructions, Study, Trial, Tuning, parse_space
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.evaluate import LocalEvaluator
from tests.support.processes import SECONDS, of_session, wait_for
from tests.support.rows import rows
from tests.support.tuning_cases import JOB, TINY, cut_short, kept, loops, told, tuned, tuning_of

# The command, which stands still after so many more rows, while workers compile. 0: goes through.
PAUSING = """
import signal, sys
from optctx.lab.command.main import main
from optctx.lab.trials import TrialFile

left, append = int(sys.argv.pop(1)), TrialFile.append

def pausing(self, trial):
    global left
    append(self, trial)
    left -= 1
    if not left:
        signal.pause()

TrialFile.append = pausing
sys.exit(main())
"""
OPTCTX = [sys.executable, "-m", "optctx"]
ARGUMENTS: dict[str, Any] = {"job": JOB, "space": loops(), "seed": 5, "trials": 16}


@pytest.mark.long
def test_a_study_that_is_killed_five_times_has_each_trial_once(tmp_path: pathlib.Path) -> None:
    trials = 200
    (tmp_path / "tiny.ll").write_text(TINY)
    study = tmp_path / "night.journal"
    command = [
        *(sys.executable, "-c", PAUSING, "0"),
        *("tune", str(tmp_path / "tiny.ll"), "--passes", "default<O1>", "--jobs", "2"),
        *("--try", "unroll-count=1..100", "--try", "inline-threshold=1..100", "--sampler", "random"),
        *("--trials", str(trials), "--keep", str(study), "--resume", "--format", "json"),
    ]
    ended = 0
    for percent in (8, 16, 29, 1, 44):
        more = trials * percent // 100
        command[3], ended = str(more), ended + more
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
            wait_for(functools.partial(lambda enough: kept(study) == enough, ended))
            process.kill()
        assert process.returncode == -signal.SIGKILL
        wait_for(lambda: not of_session(process.pid))
        assert kept(study) == ended
    command[3] = "0"
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    said = [line for line in done.stderr.splitlines() if not line.startswith("optctx: tuning: ")]
    assert (done.returncode, said) == (0, [])
    found = json.loads(done.stdout)["trials"]
    assert len(found) == len({json.dumps(trial["options"]) for trial in found}) == trials
    assert [trial["number"] for trial in found] == list(range(trials))
    assert kept(study) == trials
    whole = tuned(
        Job(TINY, "default<O1>"),
        parse_space(["unroll-count=1..100", "inline-threshold=1..100"]),
        sampler="random",
        trials=trials,
    )
    assert [trial["options"] for trial in found] == [trial.options for trial in whole.trials]


def test_a_search_goes_on_as_if_nothing_had_happened(tmp_path: pathlib.Path) -> None:
    arguments = {**ARGUMENTS, "keep": str(tmp_path / "study.journal")}
    cut_short(5, **arguments)
    assert kept(tmp_path / "study.journal") in (5, 6)
    study = tuned(**arguments, resume=True)
    assert told(study) == told(tuned(**ARGUMENTS))
    assert study.compiled <= 16 - 5
    again = tuned(**arguments, resume=True)
    assert told(again) == told(study)
    assert again.compiled == 0
    assert again.trials == study.trials
    more = tuned(**{**arguments, "trials": 18}, resume=True)
    assert told(more)[:16] == told(study)
    assert len(more.trials) == 18


def test_an_interrupted_search_hands_over_what_it_has_found_which_is_what_is_kept(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may come when a row is written, and before the search knows that it is."""
    file = tmp_path / "study.journal"
    append = TrialFile.append
    seen: list[Study] = []

    def interrupted(self: TrialFile, trial: Trial) -> None:
        append(self, trial)
        if kept(file) == 9:
            raise KeyboardInterrupt

    tuning: Tuning
    with tuning_of(**ARGUMENTS, keep=str(file), on_trial=lambda trial: seen.append(tuning.study)) as tuning:
        with monkeypatch.context() as patch:
            patch.setattr(TrialFile, "append", interrupted)
            with pytest.raises(KeyboardInterrupt) as caught:
                tuning.run()
        assert len(tuning.study.trials) == kept(file) == 9
    assert [(study.ended, study.finished) for study in seen] == [("", False)] * 8
    assert isinstance(caught.value, Interrupted)
    study = caught.value.partial
    assert isinstance(study, Study)
    assert (study.ended, study.finished, study.total) == ("interrupted", False, 16)
    assert study.best_so_far is not None
    whole = tuned(**ARGUMENTS)
    assert all(trial in told(whole) for trial in told(study))  # one that runs may have a smaller number
    again = tuned(**ARGUMENTS, keep=str(file), resume=True)
    assert again.finished
    assert told(again) == told(whole)


def test_an_interrupt_while_measuring_ends_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Assessor) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Assessor, "stop", interrupted)
    with pytest.raises(KeyboardInterrupt), tuning_of(JOB, loops(), trials=1) as tuning:
        tuning.run()
    evaluator = tuning._evaluator
    assert isinstance(evaluator, LocalEvaluator)
    wait_for(lambda: evaluator.pool.end is not None)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a study that ended after four trials."""
    file = tmp_path_factory.mktemp("study") / "study.journal"
    tuned(**{**ARGUMENTS, "keep": str(file), "trials": 4})
    return file.read_bytes()


@pytest.fixture
def study(ended: bytes, tmp_path: pathlib.Path) -> str:
    file = tmp_path / "study.journal"
    file.write_bytes(ended)
    return str(file)


DIFFERENT: dict[str, dict[str, Any]] = {
    "input": {"job": Job(TINY, JOB.passes)},
    "space": {"space": parse_space(["unroll-count=1..8"])},
    "objectives": {"objectives": (Instructions(),)},
    "sampler": {"sampler": "random"},
    "seed": {"seed": 6},
    "window": {"window": 2},
}


def test_a_study_of_something_else_is_refused_by_name(study: str) -> None:
    before = pathlib.Path(study).read_bytes()
    for name, different in DIFFERENT.items():
        with pytest.raises(OptctxError, match=f"its trials are of a tune that differs in {name};"):
            tuned(**{**ARGUMENTS, **different, "keep": study, "resume": True})
    with pytest.raises(OptctxError, match="it exists already; go on with --resume"):
        tuned(**ARGUMENTS, keep=study)
    assert pathlib.Path(study).read_bytes() == before


class Planted:
    """Makes a file when it is unpickled."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[Callable[..., None], tuple[pathlib.Path]]:
        return pathlib.Path.touch, (self._path,)


def test_a_planted_pickle_is_not_read(tmp_path: pathlib.Path) -> None:
    """Optuna's CMA-ES sampler keeps pickles in attributes of trials, and unpickles what it finds there."""
    import optuna

    marker, file = tmp_path / "marker", tmp_path / "study.journal"
    arguments = {**ARGUMENTS, "sampler": "cmaes", "keep": str(file)}
    cut_short(8, **arguments)
    found = {"cma:optimizer:0": pickle.dumps(Planted(marker)).hex(), "cma:generation": 0}
    lines = []
    for line in file.read_text().splitlines():
        if (operation := json.loads(line))["op_code"] == 6:  # Optuna takes nothing for a trial that has ended
            number = operation["trial_id"]
            for name, value in found.items():
                planted = {"op_code": 9, "worker_id": "x", "trial_id": number, "system_attr": {name: value}}
                lines.append(json.dumps(planted))
        lines.append(line)
    file.write_text("\n".join(lines) + "\n")
    study = tuned(**arguments, resume=True)
    assert not marker.exists()
    assert told(study) == told(tuned(**{**ARGUMENTS, "sampler": "cmaes"}))
    from optuna.storages.journal import JournalFileBackend

    theirs = optuna.load_study(
        study_name="optctx",
        storage=optuna.storages.JournalStorage(JournalFileBackend(str(file))),
        sampler=optuna.samplers.CmaEsSampler(),
    )
    with contextlib.suppress(Exception):
        theirs.ask({"unroll-count": optuna.distributions.IntDistribution(1, 8)})
    assert marker.exists(), "the trap itself"


@rows(
    ("old", "new"),
    [
        ('"unroll-count":"', '"unroll-count":"100'),
        ('"force-vector-width":"', '"no-such-option":"'),
        ('"objectives":{"size"', '"objectives":{"speed"'),
        ('"state":"ok"', '"state":"crashed"'),
    ],
)
def test_a_trial_that_is_not_of_the_study_is_refused(
    old: str, new: str, ended: bytes, tmp_path: pathlib.Path
) -> None:
    head, mark, rest = ended.decode().partition('"optctx":{"number":2')
    assert mark
    (file := tmp_path / "forged.journal").write_text(head + mark + rest.replace(old, new, 1))
    with pytest.raises(OptctxError, match="its trial 2 is not of this study; name another file"):
        tuned(**ARGUMENTS, keep=str(file), resume=True)


def test_a_study_of_another_optuna_goes_on_without_doing_anything_twice(
    study: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose samplers ask for other points."""
    import optuna

    first = tuned(**{**ARGUMENTS, "trials": 4}, keep=study, resume=True)
    real = optuna.samplers.TPESampler
    monkeypatch.setattr(optuna.samplers, "TPESampler", lambda seed: real(seed=seed + 1))
    other = tuned(**ARGUMENTS, keep=study, resume=True)
    assert told(other)[:4] == told(first)
    assert len({tuple(trial.options.items()) for trial in other.trials}) == len(other.trials) == 16
