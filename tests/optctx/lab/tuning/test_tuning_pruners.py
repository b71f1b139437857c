"""Pruners: which trials they stop, that these are rows, and that a search goes on as it would have."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence

import pytest

from optctx.errors import OptctxError
from optctx.lab.tuning import Command, Goal, RunTime, Size, Trial, parse_space
from optctx.lab.tuning.asking import Asking, go_on
from optctx.lab.tuning.evaluate import Candidate
from optctx.lab.tuning.search import PRUNERS, Search, make_pruner
from tests.support.rows import rows
from tests.support.tuning_cases import HARNESS, JOB, KERNEL, LOOSE, cut_short, loops, told, tuned

TIME = [Goal("time", "times the base")]
NAMED = [name for name in PRUNERS if name not in ("none", "threshold")] + ["threshold:2.5", "percentile:50"]
ROUNDS = (5, 10, 15, 20)


def search(pruner: str, sampler: str = "tpe") -> Asking:
    space = parse_space(["unroll-count=1..500", "force-vector-width=1,2,4,8"])
    return Asking(space, TIME, Search(sampler, pruner, seed=3, window=8), blocks=True)


def figure(candidate: Candidate, step: int) -> float:
    """One that no machine changes: large counts are slow, and first rounds are off by a little."""
    point = dict(candidate.point)
    return int(point["unroll-count"]) / 100 + int(point["force-vector-width"]) / 10 + 1 / step


def measured(search: Asking, block: Sequence[Candidate]) -> list[Trial]:
    """As `Bench.measure` goes about it: all of a block, in rounds."""
    steps: dict[int, list[list[float]]] = {each.number: [] for each in block}
    living = list(block)
    for step in ROUNDS:
        stopped = []
        for each in living:
            steps[each.number].append([step, figure(each, step)])
            if search.report(each.number, step, figure(each, step)):
                stopped.append(each)
        living = [each for each in living if each not in stopped]
    trials = []
    for each in block:
        state = "ok" if each in living else "pruned"
        figures = {"time": figure(each, ROUNDS[-1])} if state == "ok" else {}
        attributes = {"intermediate": steps[each.number]}
        trials.append(
            Trial(each.number, dict(each.point), "", state, figures, attributes=attributes)  # type: ignore[arg-type]
        )
    return trials


def run(searching: Asking, count: int) -> list[Trial]:
    """So many more trials, in blocks."""
    done: list[Trial] = []
    while len(done) < count:
        block = [found for _ in range(8) if (found := searching.ask()) is not None]
        for trial in measured(searching, block):
            searching.result(trial)
            done.append(trial)
    return done


@rows("pruner", NAMED)
def test_a_search_with_a_pruner_saves_rounds_and_goes_on_as_it_would_have(pruner: str) -> None:
    whole = run(search(pruner), 32)
    assert {trial.state for trial in whole} == {"ok", "pruned"}
    assert sum(len(trial.attributes["intermediate"]) for trial in whole) < 32 * len(ROUNDS)
    begun = search(pruner)
    first = run(begun, 16)
    assert first == whole[:16]
    # Through a journal, which has JSON
    stored = [
        Trial(t.number, t.options, "", t.state, t.objectives, attributes=json.loads(json.dumps(t.attributes)))
        for t in first
    ]
    going_on = go_on(
        lambda: search(pruner), {trial.number: (trial, begun.values_of(trial.number)) for trial in stored}
    )
    assert run(going_on, 16) == whole[16:]


def test_without_a_pruner_every_trial_is_measured_to_its_end() -> None:
    assert {trial.state for trial in run(search("none"), 16)} == {"ok"}


@rows(
    ("pruner", "expected"),
    [
        ("medium", "did you mean 'median'|there is no pruner 'medium'"),
        ("median:3", "takes no number"),
        ("threshold", "such as threshold:1.5"),
        ("threshold:x", "such as threshold:1.5"),
        ("percentile:200", "such as percentile:25"),
        ("median", "the search is by 'size', which has no rounds to stop between"),
        ("median", "'time' and 'size', which are several"),
    ],
)
def test_pruners_that_cannot_be_are_refused(pruner: str, expected: str) -> None:
    several = "which are several" in expected
    objectives = (RunTime(harness=HARNESS), Size()) if several else (Size(),)
    with pytest.raises(OptctxError, match=expected):
        tuned(JOB, loops(), objectives, pruner=pruner)


def test_a_threshold_is_a_limit_in_the_direction_of_the_search() -> None:
    assert make_pruner("threshold:1.5")._upper == 1.5  # type: ignore[attr-defined]
    assert make_pruner("threshold:1.5", "maximise")._lower == 1.5  # type: ignore[attr-defined]


@pytest.mark.long
def test_a_slow_trial_is_stopped_and_kept(tmp_path: pathlib.Path) -> None:
    """One addition after the other is several times slower than what -O2 makes of the loop."""
    arguments = {
        "job": KERNEL,
        "space": parse_space(["force-vector-width=1,4", "force-vector-interleave=1,4"]),
        "objectives": (RunTime(harness=HARNESS, tolerance=LOOSE, seconds=1.0),),
        "sampler": "grid",
        "pruner": "threshold:1.8",
        "keep": str(tmp_path / "night.db"),
    }
    study = tuned(**arguments)
    states = {tuple(trial.options.values()): trial.state for trial in study.trials}
    assert states[("1", "1")] == "pruned"
    assert "ok" in states.values()
    (slow,) = (trial for trial in study.trials if tuple(trial.options.values()) == ("1", "1"))
    assert slow.objectives == {}
    assert slow.attributes["time"]["rounds"] == 5
    assert "times the base after 5 rounds" in slow.error
    ((step, ratio),) = slow.attributes["intermediate"]
    assert step == 5
    assert ratio > 1.8
    again = tuned(**arguments, resume=True)
    assert again.trials == study.trials
    assert again.compiled == 0
    with pytest.raises(OptctxError, match="differs in pruner"):
        tuned(**{**arguments, "pruner": "none"}, resume=True)


def test_equal_objects_are_measured_once_and_not_again_after_a_resume(tmp_path: pathlib.Path) -> None:
    log = tmp_path / "log"
    script = tmp_path / "score.sh"
    script.write_text(f'#!/bin/sh\necho x >> {log}\nwc -c < "$1"\n')
    script.chmod(0o755)
    # The second option changes nothing in this module, but LLVM reads it.
    arguments = {
        "job": JOB,
        "space": parse_space(["force-vector-width=1,2", "inline-threshold=100,200,300,400,500,600"]),
        "objectives": (Command(command=f"{script} {{object}}"),),
        "sampler": "grid",
        "keep": str(tmp_path / "night.db"),
        "trials": 12,
    }
    cut_short(8, **arguments)
    before = log.read_text().count("x")
    digests = 3  # the base's and two
    assert before <= digests
    study = tuned(**arguments, resume=True)
    assert len(study.trials) == 12
    found = {trial.attributes["digest"] for trial in study.trials}
    # The base is measured by each run; nothing else is measured twice.
    assert log.read_text().count("x") <= len(found | {study.base.attributes["digest"]}) + 1
    assert told(study) == told(tuned(**{**arguments, "keep": None}))
