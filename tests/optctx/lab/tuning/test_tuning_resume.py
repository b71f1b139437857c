"""Studies in Optuna's storage: interrupted, killed, shared, damaged, or of something else."""

from __future__ import annotations

import itertools
import json
import os
import pathlib
import re
import resource
import signal
import threading
from collections.abc import Mapping
from typing import Any

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import TrialState

from optctx.compiling import Job
from optctx.errors import EndedEarlyError, Interrupted, OptctxError
from optctx.lab.command.main import main
from optctx.lab.space import parse_space
from optctx.lab.trial import Trial
from optctx.lab.tuning import RunTime, Tuned
from optctx.lab.tuning.objectives import found
from optctx.lab.tuning.studies import Study
from optctx.lab.tuning.tuning import _Run
from tests.support.forking import fork, run_and_end
from tests.support.processes import SECONDS, in_child, of_session, wait_for
from tests.support.tuning_cases import HARNESS, JOB, SUM, TINY, kept, loops, told, tuned

ARGUMENTS: dict[str, Any] = {"job": JOB, "space": loops(), "trials": 16}


def ended(study: Tuned) -> list[dict[str, Any]]:
    """Points of Optuna's trials that have ended."""
    assert study.study is not None
    states = TrialState.COMPLETE, TrialState.PRUNED
    return [trial.params for trial in study.study.get_trials(states=states)]


def search_until_killed(place: str, more: int, trials: int) -> None:
    """In a process of its own, which ends after so many more trials, while others are compiled."""
    left = iter(range(more - 1, -1, -1))

    def end(trial: Trial, total: int | None) -> None:
        if not next(left):
            os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        os.setsid()
        tuned(**{**ARGUMENTS, "trials": trials}, jobs=2, storage=place, on_trial=end)

    if not (pid := fork()):
        run_and_end(work)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
    wait_for(lambda: not of_session(pid))


@pytest.mark.parametrize(
    ("scheme", "trials"), [("", 16), ("", 24), pytest.param("sqlite:///", 16, marks=pytest.mark.long)]
)
def test_a_study_that_is_killed_has_each_trial_once(scheme: str, trials: int, tmp_path: pathlib.Path) -> None:
    """What ran when it was killed stays *running*, as Optuna has it, and counts nowhere."""
    place, arguments = f"{scheme}{tmp_path / 'study'}", {**ARGUMENTS, "trials": trials}
    search_until_killed(place, 9, trials)
    assert scheme or kept(tmp_path / "study") == 9
    study = tuned(**arguments, storage=place)
    if trials == 24:  # a grid, which tries again what was lost
        points = {tuple(sorted(params.items())) for params in ended(study)}
        assert (len(points), study.ended) == (24, "every point of the space was tried")
    else:
        assert study.compiled <= 16 - 9 + 8
        assert len(study.trials) == len(ended(study)) == 16
        assert study.ended == "16 trials"


def test_an_interrupted_study_goes_on_and_is_not_done_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C may come when a trial is kept, and before the search goes on."""
    arguments = {**ARGUMENTS, "storage": str(tmp_path / "study.journal")}
    left, tell = iter(range(9)), Study.tell

    def interrupted(self: Study, *given: Any) -> None:
        tell(self, *given)
        if next(left, 0) == 8:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Study, "tell", interrupted)
        with pytest.raises(Interrupted) as caught:
            tuned(**arguments)
    partial = caught.value.partial
    assert len(partial.trials) == kept(tmp_path / "study.journal") >= 9
    assert (partial.finished, partial.total) == (False, 16)
    assert partial.best is not None
    study = tuned(**arguments)
    assert study.finished
    assert len(study.trials) == len(ended(study)) == 16
    assert all(trial in told(study) for trial in told(partial))
    again = tuned(**arguments)
    assert (again.trials, again.compiled) == (study.trials, 0)
    more = tuned(**{**arguments, "trials": 18})
    assert told(more)[:16] == told(study)
    assert len(more.trials) == 18


def test_a_search_that_joins_begins_with_other_points(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It joins while the first points of the other one are compiled, and none has ended."""
    space = parse_space(["unroll-count=1..64", "inline-threshold=0..500000"])
    given: dict[str, Any] = {"job": JOB, "space": space, "trials": 16}
    given["storage"] = str(tmp_path / "study.journal")
    calls, assessed = itertools.count(), _Run._assessed

    def joined(self: _Run, *compiled: Any) -> list[Trial]:
        if next(calls) == 1:  # the first one is for the base
            tuned(**given)
        return assessed(self, *compiled)

    monkeypatch.setattr(_Run, "_assessed", joined)
    points = [trial.options for trial in tuned(**given).trials]
    assert len(points) >= 16
    assert points[:8] != points[8:16]


def test_two_searches_work_on_one_study(tmp_path: pathlib.Path) -> None:
    """As two processes do: each sees the trials of the other, and they share what was asked for."""
    given = {**ARGUMENTS, "space": parse_space(["unroll-count=1..64", "inline-threshold=0..500000"])}
    given |= {"trials": 40, "sampler": RandomSampler(seed=0), "storage": str(tmp_path / "study.journal")}
    found: list[Tuned] = []
    begun, joined = threading.Event(), threading.Event()

    def second() -> None:
        begun.wait(SECONDS)
        sampler = RandomSampler(seed=99)
        found.append(tuned(**{**given, "sampler": sampler}, on_trial=lambda *_: joined.set()))

    other = threading.Thread(target=second)
    other.start()
    mine: list[int] = []

    def note(trial: Trial, total: int | None) -> None:
        mine.append(trial.number)
        begun.set()
        joined.wait(SECONDS)  # otherwise this one may be done before the other has begun

    found.append(tuned(**given, on_trial=note))
    other.join()
    points = ended(found[0])
    assert 40 <= len(points) <= 40 + 2 * 8, "what both run when the limit is reached"
    assert len({tuple(each.items()) for each in points}) == len(points)
    assert 0 < len(mine) < len(points)
    # All but what this one was still compiling when the other ended.
    assert set(mine) & {trial.number for trial in found[1].trials}


def test_a_study_of_something_else_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "study.journal"
    given = {**ARGUMENTS, "storage": str(file)}
    tuned(**{**given, "trials": 4})
    others: dict[str, dict[str, Any]] = {
        "input": {"job": Job(TINY, JOB.passes)},
        "space": {"space": parse_space(["unroll-count=1..8"])},
        "goal": {"by": "instructions"},
    }
    for name, value in others.items():
        words = f"its trials differ in {name}; .* or name another storage"
        with pytest.raises(OptctxError, match=words):
            tuned(**{**given, **value})
    # Another sampler goes on with it, as in Optuna; and another study is beside it.
    assert len(tuned(**{**given, "trials": 6, "sampler": RandomSampler(seed=1)}).trials) == 6
    assert len(tuned(**{**given, "trials": 2, "study": "other"}).trials) == 2


def test_a_storage_that_cannot_be_used_is_one_error(tmp_path: pathlib.Path) -> None:
    theirs, garbage = tmp_path / "theirs.journal", tmp_path / "garbage.journal"
    backend = optuna.storages.journal.JournalFileBackend(str(theirs))
    optuna.create_study(study_name="optctx", storage=optuna.storages.JournalStorage(backend)).add_trial(
        optuna.trial.create_trial(value=1.0)
    )
    garbage.write_text("hello\n")
    for place, words in {
        str(theirs): "its trials differ in .* or name another storage",
        str(garbage): "cannot use the storage .*garbage.journal",
        str(tmp_path): "Is a directory",
        str(tmp_path / "none" / "study.journal"): "No such file or directory",
        "/dev/null": "Invalid argument",
        f"sqlite:///{tmp_path}/none/study.db": "unable to open database file",
        "nonsense://user:secret@host/x": "cannot use the storage 'host/x'",
    }.items():
        with pytest.raises(OptctxError, match=words) as caught:
            tuned(**ARGUMENTS, storage=place)
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
    assert garbage.read_text() == "hello\n"


def test_a_full_disk_loses_nothing_that_is_kept(tmp_path: pathlib.Path) -> None:
    """Half of a line is left, to which Optuna alone would append."""
    file = tmp_path / "study.journal"

    def work() -> None:
        def fill(trial: Trial, total: int | None) -> None:
            if trial.number == 3:
                size = file.stat().st_size
                resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))

        with pytest.raises(EndedEarlyError, match=r"cannot use the storage .*: File too large") as caught:
            tuned(**ARGUMENTS, storage=str(file), on_trial=fill)
        assert len(caught.value.partial.trials) >= 4

    in_child(work)
    assert not file.read_bytes().endswith(b"\n")
    study = tuned(**ARGUMENTS, storage=str(file))
    assert len(study.trials) == len(ended(study)) == 16
    assert [trial.number for trial in study.trials][:4] == [0, 1, 2, 3]


# What an interrupted search says: how far it came, what is best so far, how to go on

UNTRUE = re.compile(r"no gain|every point|ended", re.IGNORECASE)


def interrupted(*arguments: object) -> None:
    raise KeyboardInterrupt


def measured(self: RunTime, base: bytes, candidates: Mapping[str, bytes]) -> dict[str, Trial]:
    """What is not the base's code is faster."""
    ratio = {"middle": 2.0, "low": 1.9, "high": 2.1}
    times = {"seconds": ratio, "ratio": ratio, "noise": {**ratio, "high": 1.0}}
    return {
        name: found("ok", 1.0) if code == base else found("ok", 0.5, time=times)
        for name, code in candidates.items()
    }


def test_text_and_json_say_how_far_a_search_by_run_time_came(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(RunTime, "measure", measured)
    (tmp_path / "sum.ll").write_text(SUM)
    (tmp_path / "sum_harness.py").write_text(HARNESS)
    study = str(tmp_path / "night.journal")
    words = ["tune", str(tmp_path / "sum.ll"), "--by", "time", "--storage", study]
    words += ["--try", "force-vector-width=1,4", "--try", "unroll-count=1,2"]

    def run(*more: str) -> tuple[str, str]:
        assert main([*words, *more]) == 130
        return capfd.readouterr()

    # Before the first trial
    with monkeypatch.context() as patch:
        patch.setattr(_Run, "_ask", interrupted)
        out, err = run()
    goes_on = f"the same command goes on in {study!r}"
    assert err == f"optctx: interrupted after 0 of 4 trials; {goes_on}\n"
    assert out.splitlines()[-1] == "0 of 4 trials; not finished"
    assert not UNTRUE.search(out)
    # Between trials
    ended, tell = itertools.count(1), _Run._tell

    def third(self: _Run, *given: Any) -> None:
        tell(self, *given)
        if next(ended) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(_Run, "_tell", third)
    out, err = run()
    assert err == f"optctx: interrupted after 3 of 4 trials; {goes_on}\n"
    assert not UNTRUE.search(out)
    best, last = out.splitlines()[-2:]
    assert re.fullmatch(
        r"best so far by time: -force-vector-width=\d -unroll-count=\d \(-50.0%, not confirmed\)", best
    )
    assert last == "3 of 4 trials; not finished"
    # Before the second check
    monkeypatch.setattr(_Run, "_confirm", interrupted)
    out, err = run("--trials", "3", "--format", "json")
    assert err.startswith("optctx: interrupted after 3 of 3 trials; ")
    data = json.loads(out)
    assert (data["ended"], data["finished"], data["total"], data["best"]) == ("", False, 3, None)
    assert len(data["trials"]) == 3
    figures = {each["number"]: each["figure"] for each in data["trials"]}
    assert data["best_so_far"] == min(figures, key=lambda number: figures[number])
