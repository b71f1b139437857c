"""Objectives that run something, and what is done with the winner."""

from __future__ import annotations

import pathlib
from dataclasses import replace
from typing import Any

import pytest

from optctx import OptionContext, registry
from optctx.compiling import FreshProcess, Job
from optctx.errors import Interrupted, OptctxError
from optctx.lab.experiment import Experiment
from optctx.lab.outcome import Answer
from optctx.lab.space import Dimension, parse_space
from optctx.lab.timing import Interval, Measurement, Timing
from optctx.lab.trial import Trial
from optctx.lab.tuning import Command, RunTime, propose
from optctx.lab.tuning.objectives import found
from optctx.lab.tuning.tuning import _Run
from tests.support.tuning_cases import (
    JOB,
    KERNEL,
    TINY,
    loops,
    sum_of_floats,
    told,
    tuned,
)


@pytest.mark.long
def test_run_time_is_searched_and_confirmed(tmp_path: pathlib.Path) -> None:
    """One addition after the other, as the base has them, is slower than four beside each other."""
    objective = RunTime(kernel=sum_of_floats(tmp_path, seconds=1.0))
    space = parse_space(["force-vector-width=1,4", "unroll-count=1,2"])
    with OptionContext(force_vector_width=1, unroll_count=1, force_vector_interleave=1):
        study = tuned(KERNEL, space, objective)
    assert study.base.figure == pytest.approx(1, abs=0.5)
    assert {trial.state for trial in study.trials} == {"ok"}
    assert study.best is not None
    assert (study.best.figure or 1) < 0.7
    assert study.best.options["force-vector-width"] == "4"
    assert study.minimised is not None
    assert study.minimised["force-vector-width"] == "4"
    assert study.confirmation is not None
    assert study.confirmation["second"]["ratio"]["low"] > 1


def test_run_times_of_another_processor_are_not_of_the_same_search(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunTime, "measure", lambda self, base, codes: dict.fromkeys(codes, found("ok", 1.0)))
    arguments: dict[str, Any] = {
        "job": KERNEL,
        "space": parse_space(["force-vector-width=1"]),
        "by": RunTime(kernel=sum_of_floats(tmp_path, seconds=0.01)),
        "storage": str(tmp_path / "night.journal"),
    }
    tuned(**arguments)
    monkeypatch.setattr("optctx.lab.tuning.tuning.processor_model", lambda: "another one")
    with pytest.raises(OptctxError, match="its trials differ in processor; repeat"):
        tuned(**arguments)


@pytest.mark.usefixtures("few_rounds")
def test_a_wrong_result_is_a_row(tmp_path: pathlib.Path) -> None:
    """Without a tolerance, sums in another order are wrong."""
    objective = RunTime(kernel=sum_of_floats(tmp_path, "", seconds=0.01))
    study = tuned(KERNEL, parse_space(["force-vector-width=1"]), objective)
    (trial,) = study.trials
    assert (trial.state, trial.figure) == ("wrong result", None)
    assert "the returned value is" in trial.error
    assert study.best is None


def test_a_command_gives_the_figure(tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "score.sh").write_text('echo size is $(wc -c < "$1")\n')
    command = f"sh {tmp_path}/score.sh {{object}}"
    study = tuned(JOB, loops(), Command(command=command), trials=4)
    assert all(trial.figure == trial.attributes["size"] for trial in study.trials)
    for bad, timeout, expected in (
        ("sh -c 'echo no luck >&2; exit 1' {object}", 60, "status 1: no luck"),
        ("sh -c 'echo 1 x' {object}", 60, "no number last: 1 x"),
        ("sh -c 'sleep 60' {object}", 0.5, "took longer than 0.5 s"),
    ):
        with pytest.raises(OptctxError, match=expected):
            tuned(JOB, loops(), Command(command=bad, timeout=timeout))
    assert capfd.readouterr() == ("", "")


def test_equal_objects_are_measured_once_and_not_again_by_the_next_search(tmp_path: pathlib.Path) -> None:
    log, script = tmp_path / "log", tmp_path / "score.sh"
    script.write_text(f'echo x >> {log}\nwc -c < "$1"\n')

    def interrupt(trial: Trial, total: int | None) -> None:
        if trial.number == 7:
            raise KeyboardInterrupt

    arguments: dict[str, Any] = {
        "job": JOB,
        # The second option changes nothing in this module, but LLVM reads it.
        "space": parse_space(["force-vector-width=1,2", "inline-threshold=100,200,300,400,500,600"]),
        "by": Command(command=f"sh {script} {{object}}"),
        "trials": 12,
    }
    with pytest.raises(Interrupted):
        tuned(**arguments, storage=str(tmp_path / "night.journal"), on_trial=interrupt)
    assert log.read_text().count("x") <= 3  # the base's object and two
    study = tuned(**arguments, storage=str(tmp_path / "night.journal"))
    found = {trial.attributes["digest"] for trial in (study.base, *study.trials)}
    # The base is measured by each run; nothing else is measured twice.
    assert log.read_text().count("x") <= len(found) + 1
    assert told(study) == told(tuned(**arguments))
    assert len(study.trials) == 12


def test_a_best_trial_that_takes_too_long_the_next_time_is_no_gain(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to drop options from, and the search goes on to its end."""
    ratio, noise = ({"middle": each, "low": each, "high": each} for each in (2.0, 1.0))
    fast = found("ok", 0.5, time={"seconds": ratio, "ratio": ratio, "noise": noise})
    one = Interval(1.0, 1.0, 1.0)
    lost = Measurement(one, one, {"candidate": Timing("failed", "it cannot be loaded")})
    monkeypatch.setattr(RunTime, "measure", lambda self, base, codes: dict.fromkeys(codes, fast))
    monkeypatch.setattr(RunTime, "confirm", lambda *given: lost)
    monkeypatch.setattr(_Run, "compile", lambda self, options: Answer("timed out"))
    monkeypatch.setattr(_Run, "compile_base", lambda self: Experiment.compile(self, {}))
    study = tuned(KERNEL, parse_space(["unroll-count=2"]), RunTime(sum_of_floats(tmp_path)))
    assert study.confirmation is not None
    assert (study.confirmation["text"], study.finished) == ("no gain: it cannot be loaded", True)
    assert (study.best, study.minimised) == (None, None)


def test_what_a_command_measures_is_minimised_by_measuring(fresh: FreshProcess) -> None:
    """Objects that no trial had are measured as well."""
    space = parse_space(["force-vector-width=1", "unroll-count=2"])
    study = tuned(JOB, space, Command(command="stat -c %s {object}"))
    assert (len(study.trials), study.minimised) == (1, {"force-vector-width": "1"})
    code = fresh.compile(replace(JOB, options=("-force-vector-width=1",))).code
    assert len(code) < (study.trials[0].figure or 0)


def test_a_proposed_space_has_what_makes_the_output_better(fresh: FreshProcess) -> None:
    """In fresh processes, too; and options that are not for tuning are not tried.

    A choice that is called "default" is in a grid once.
    """
    dimensions = propose(JOB, 30, trials=40)
    assert len(propose(JOB, 2, trials=10)) == 2
    values = {each.name: each.values.each for each in dimensions}
    assert {"1", "16", "1024"} <= {*values["unroll-count"]}
    assert values["misched"] == ("default", "converge")
    assert {registry()[each.name].trust for each in dimensions} == {"tuning"}
    assert min(_sizes(fresh, dimensions[0], JOB)) < len(fresh.compile(JOB).code)
    with pytest.raises(OptctxError, match="there is nothing to propose"):
        propose(Job(TINY, "verify"), trials=1)


def _sizes(fresh: FreshProcess, dimension: Dimension, job: Job) -> list[int]:
    """Of the object with each value, of those that compile."""
    texts = [text for text in map(str, dimension.values.each) if text != "default"]
    jobs = [replace(job, options=(f"-{dimension.name}={text}",)) for text in texts]
    return [len(done.code) for done in map(fresh.compile, jobs) if done.error is None]
