"""Samplers and the order of trials, without compilations."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from optctx.lab.tuning import Choices, Dimension, Goal, Integers, Space, Trial
from optctx.lab.tuning.asking import Asking, go_on
from optctx.lab.tuning.search import SAMPLERS, Search
from tests.support.rows import rows

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
    space = Space((Dimension("a", Integers(1, 6)), Dimension("b", Choices(("x", "y", "z")))))
    trials = searched(space, sampler, 0, 4, 1000)
    points = {(("a", str(a)), ("b", b)) for a in range(1, 7) for b in "xyz"}
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
