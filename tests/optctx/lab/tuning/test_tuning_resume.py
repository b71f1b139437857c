"""Studies that are interrupted, killed, damaged or forged."""

from __future__ import annotations

import contextlib
import json
import pathlib
import shutil
import signal
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

from optctx.compiling import Job
from optctx.errors import Interrupted, OptctxError
from optctx.lab.trials import TrialFile
from optctx.lab.tuning import Instructions, Study, Trial, Tuning, parse_space
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.evaluate import Evaluator
from tests.support.processes import SECONDS, of_session, wait_for
from tests.support.rows import rows
from tests.support.tuning_cases import JOB, TINY, cut_short, kept, loops, told, tuned, tuning_of

ROOT = pathlib.Path(__file__).parents[4]
ARGUMENTS: dict[str, Any] = {"job": JOB, "space": loops(), "seed": 5, "trials": 16}
# A search of these that is killed after so many more trials, while workers compile.
KILLED = """
import os, signal, sys
from tests.support.tuning_cases import JOB, loops, tuned

def end(trial):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

file, left = sys.argv[1], int(sys.argv[2])
tuned(JOB, loops(), seed=5, trials=16, jobs=2, keep=file, resume=True, on_trial=end)
"""


def test_a_search_that_is_killed_twice_has_each_trial_once(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "study.journal"
    for more, count in ((5, 5), (4, 9)):
        command = [sys.executable, "-c", KILLED, str(file), str(more)]
        with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
            assert process.wait(SECONDS) == -signal.SIGKILL
        wait_for(partial(lambda session: not of_session(session), process.pid))
        assert kept(file) == count
    study = tuned(**ARGUMENTS, keep=str(file), resume=True)
    assert told(study) == told(tuned(**ARGUMENTS))
    assert study.compiled <= 16 - 9
    assert file.read_bytes().count(b'"op_code":6') == 16


def test_a_search_goes_on_as_if_nothing_had_happened(tmp_path: pathlib.Path) -> None:
    arguments = {**ARGUMENTS, "keep": str(tmp_path / "study.journal")}
    cut_short(5, **arguments)
    assert kept(tmp_path / "study.journal") in (5, 6)
    study = tuned(**arguments, resume=True)
    assert told(study) == told(tuned(**ARGUMENTS))
    assert study.compiled <= 16 - 5
    again = tuned(**arguments, resume=True)
    assert (again.trials, again.compiled) == (study.trials, 0)
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
        with pytest.raises(OptctxError, match="a Tuning searches once"):
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
    assert isinstance(evaluator, Evaluator)
    wait_for(lambda: evaluator.pool.end is not None)


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a study that ended after four trials, which tests leave as it is."""
    file = str(tmp_path_factory.mktemp("study") / "study.journal")
    tuned(**{**ARGUMENTS, "keep": file, "trials": 4})
    return file


def test_a_study_of_something_else_is_refused_by_name(ended: str) -> None:
    before = pathlib.Path(ended).read_bytes()
    others: dict[str, dict[str, Any]] = {
        "input": {"job": Job(TINY, JOB.passes)},
        "space": {"space": parse_space(["unroll-count=1..8"])},
        "objectives": {"objectives": (Instructions(),)},
        "sampler": {"sampler": "random"},
        "seed": {"seed": 6},
        "window": {"window": 2},
    }
    for name, value in others.items():
        with pytest.raises(OptctxError, match=f"its trials are of a tune that differs in {name};"):
            tuned(**{**ARGUMENTS, **value, "keep": ended, "resume": True})
    assert pathlib.Path(ended).read_bytes() == before


def test_a_planted_pickle_is_not_read(tmp_path: pathlib.Path) -> None:
    """Optuna's CMA-ES sampler keeps pickles in attributes of trials, and unpickles what it finds there."""
    import optuna

    marker, file = tmp_path / "marker", tmp_path / "study.journal"
    arguments = {**ARGUMENTS, "sampler": "cmaes", "keep": str(file)}
    cut_short(8, **arguments)
    pickled = f"cos\nmkdir\n(V{marker}\ntR.".encode()  # unpickling it calls os.mkdir
    found = {"cma:optimizer:0": pickled.hex(), "cma:generation": 0}
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
    old: str, new: str, ended: str, tmp_path: pathlib.Path
) -> None:
    head, mark, rest = pathlib.Path(ended).read_text().partition('"optctx":{"number":2')
    assert mark
    (file := tmp_path / "forged.journal").write_text(head + mark + rest.replace(old, new, 1))
    with pytest.raises(OptctxError, match="its trial 2 is not of this study; name another file"):
        tuned(**ARGUMENTS, keep=str(file), resume=True)


def test_a_study_of_another_optuna_goes_on_without_doing_anything_twice(
    ended: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One whose samplers ask for other points."""
    import optuna

    study = shutil.copy(ended, tmp_path / "study.journal")
    first = tuned(**{**ARGUMENTS, "trials": 4}, keep=str(study), resume=True)
    real = optuna.samplers.TPESampler
    monkeypatch.setattr(optuna.samplers, "TPESampler", lambda seed: real(seed=seed + 1))
    other = tuned(**ARGUMENTS, keep=str(study), resume=True)
    assert told(other)[:4] == told(first)
    assert len({tuple(trial.options.items()) for trial in other.trials}) == len(other.trials) == 16
