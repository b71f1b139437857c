"""Samplers, pruners and the order of trials, without compilations."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence

import pytest

from optctx.errors import OptctxError
from optctx.lab.tuning import Choices, Dimension, Floats, Goal, Integers, RunTime, Size, Space, Trial
from optctx.lab.tuning.asking import Asking, go_on
from optctx.lab.tuning.evaluate import Candidate
from optctx.lab.tuning.search import PRUNERS, SAMPLERS, Search, make_pruner
from tests.support.rows import rows
from tests.support.tuning_cases import HARNESS, JOB, loops, tuned

SIZE = [Goal("size", "bytes")]
WIDE = Space(
    (Dimension("a", Integers(1, 500)), Dimension("b", Integers(0, 64)), Dimension("c", Choices(("x", "y"))))
)


def searched(
    space: Space,
    sampler: str,
    seed: int,
    window: int,
    trials: int,
    order: int = 0,
    done: Sequence[Trial] = (),
) -> list[Trial]:
    """Trials with a figure each, which come in an order of chance; those that are done are not run again."""
    values = {t.number: {n: int(x) if x.isdigit() else x for n, x in t.options.items()} for t in done}
    search = go_on(
        lambda: Asking(space, SIZE, Search(sampler, seed=seed, window=window)),
        {trial.number: (trial, values[trial.number]) for trial in done},
    )
    dice = random.Random(order)
    found: list[Trial] = list(done)
    running = search.running
    while True:
        while len(found) + len(running) < trials and len(running) < window and search.ready:
            asked = search.ask()
            if asked is None:
                trials = 0
                break
            running.append(asked)
        if not running:
            return sorted(found, key=lambda trial: trial.number)
        candidate = running.pop(dice.randrange(len(running)))
        figure = sum(len(text) + text.count("1") for _, text in candidate.point)
        dead = figure % 5 == 4
        figures = {} if dead else {"size": float(figure)}
        trial = Trial(candidate.number, dict(candidate.point), "", "crashed" if dead else "ok", figures)
        found.append(trial)
        search.result(trial)


@rows("sampler", SAMPLERS)
def test_trials_depend_on_the_seed_and_on_figures_alone(sampler: str) -> None:
    """Neither on the order of answers, nor on a kill. On figures where the sampler learns."""
    whole, shuffled, other = (
        searched(WIDE, sampler, seed, 4, 60, order) for seed, order in ((3, 0), (3, 1), (4, 0))
    )
    assert whole == shuffled != other
    assert len({tuple(trial.options.items()) for trial in whole}) == 60
    assert [trial.number for trial in whole] == list(range(60))
    # Numbers 20 and 22 were running when it was killed.
    done = [trial for trial in whole if trial.number < 24 and trial.number not in (20, 22)]
    assert searched(WIDE, sampler, 3, 4, 60, 7, done) == whole
    at_once = searched(WIDE, sampler, 3, 1000, 60)
    assert (whole != at_once) == (sampler not in ("random", "grid"))
    if whole == at_once:  # what learns nothing goes on from any trials
        done = [trial for trial in whole if trial.number % 40 > 25]
        assert searched(WIDE, sampler, 3, 1000, 60, 7, done) == whole


@rows("sampler", SAMPLERS)
def test_a_small_space_is_tried_to_the_last_point(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space = Space((Dimension("a", Integers(1, 6)), Dimension("b", Floats(0.1, 0.35, 0.1))))
    trials = searched(space, sampler, 0, 4, 1000)
    points = {(("a", str(a)), ("b", b)) for a in range(1, 7) for b in ("0.1", "0.2", "0.3")}
    assert {tuple(trial.options.items()) for trial in trials} == points
    assert len(trials) == 18
    assert searched(space, sampler, 0, 4, 1000, 1) == trials, "whatever order answers come in"
    with monkeypatch.context() as patched:
        patched.setattr("optctx.lab.tuning.asking._DRAWS", 0)
        assert len(searched(space, sampler, 0, 4, 1000)) == 18, "without drawing the last ones by chance"


def test_a_sampler_learns_to_avoid_what_crashes() -> None:
    """It ignores what has failed."""
    search = Asking(WIDE, SIZE, Search(window=1))
    asked = search.ask()
    assert asked is not None
    search.result(Trial(asked.number, dict(asked.point), "", "crashed", {}))
    search.ask()
    assert [trial.state.name for trial in search._study.trials] == ["PRUNED", "RUNNING"]


# Pruners

NAMED = [name for name in PRUNERS if name not in ("none", "threshold")] + ["threshold:2.5", "percentile:50"]
ROUNDS = (5, 10, 15, 20)


def pruned_by(pruner: str) -> Asking:
    return Asking(
        WIDE, [Goal("time", "times the base")], Search("tpe", pruner, seed=3, window=8), blocks=True
    )


def figure(candidate: Candidate, step: int) -> float:
    """One that no machine changes: large numbers are slow, and first rounds are off by a little."""
    point = dict(candidate.point)
    return int(point["a"]) / 100 + int(point["b"]) / 80 + 1 / step


def measured(search: Asking, count: int) -> list[Trial]:
    """So many more trials, as `Bench.measure` goes about it: all of a block, in rounds."""
    done: list[Trial] = []
    while len(done) < count:
        block = [found for _ in range(8) if (found := search.ask()) is not None]
        steps: dict[int, list[list[float]]] = {each.number: [] for each in block}
        living = block
        for step in ROUNDS:
            for each in living:
                steps[each.number].append([step, figure(each, step)])
            living = [each for each in living if not search.report(each.number, step, figure(each, step))]
        for each in block:
            figures = {"time": figure(each, ROUNDS[-1])} if each in living else {}
            attributes = {"intermediate": steps[each.number]}
            state = "ok" if figures else "pruned"
            trial = Trial(each.number, dict(each.point), "", state, figures, attributes=attributes)  # type: ignore[arg-type]
            search.result(trial)
            done.append(trial)
    return done


@rows("pruner", NAMED)
def test_a_search_with_a_pruner_saves_rounds_and_goes_on_as_it_would_have(pruner: str) -> None:
    whole = measured(pruned_by(pruner), 32)
    assert {trial.state for trial in whole} == {"ok", "pruned"}
    assert sum(len(trial.attributes["intermediate"]) for trial in whole) < 32 * len(ROUNDS)
    begun = pruned_by(pruner)
    first = measured(begun, 16)
    assert first == whole[:16]
    # Through a journal, which has JSON
    stored = [
        Trial(t.number, t.options, "", t.state, t.objectives, attributes=json.loads(json.dumps(t.attributes)))
        for t in first
    ]
    going_on = go_on(
        lambda: pruned_by(pruner), {trial.number: (trial, begun.values_of(trial.number)) for trial in stored}
    )
    assert measured(going_on, 16) == whole[16:]


@rows(
    ("pruner", "expected"),
    [
        ("medium", "did you mean 'median'|there is no pruner 'medium'"),
        ("median:3", "takes no number"),
        ("threshold", "such as threshold:1.5"),
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


def test_a_threshold_is_a_limit_above_and_none_stops_nothing() -> None:
    assert make_pruner("threshold:1.5")._upper == 1.5  # type: ignore[attr-defined]
    assert {trial.state for trial in measured(pruned_by("none"), 16)} == {"ok"}
