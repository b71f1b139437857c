"""Studies as plain data for tests of reports: nothing was compiled for them."""

from __future__ import annotations

import random
from dataclasses import replace

from optctx.lab.trials import Goal, State, Trial
from optctx.lab.tuning.results import Study

SIZE = Goal("size", "object bytes")
TIME = Goal("time", "times the base", confirmed=True)
COMPILE = Goal("compile-time", "seconds")
SPEED = Goal("speed", "calls per second", "maximise")
# Ends elements and scripts, has tags and entities, a formula, a template of plotly's, a mark that turns the
# direction of writing around, a control character and a byte of a file name.
HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>"
    "&amp;<b>$x$</b>%{y}\u202e\x1b[31m\udcff'\"漢"
)


def study(
    count: int, goals: tuple[Goal, ...] = (SIZE,), *, more: int = 2, lost: float = 0.1, seed: int = 0
) -> Study:
    """`count` random trials. `unroll-count` decides the size (5 is the best), `fast` the time and the speed.

    `depth` counts only with `fast`; `more` options do nothing. `lost`: the part of the trials that fail.
    """
    dice = random.Random(seed)
    trials = [_trial(number, goals, more, lost, dice) for number in range(count)]
    base = Trial(-1, {}, "default<O3>", "ok", {goal.name: _figure(goal, 12, False, 0.0) for goal in goals})
    return Study(
        goals,
        base,
        tuple(trials),
        sampler="random",
        seed=seed,
        space=("unroll-count=1..16", "fast=true,false", "depth=1..5 if fast==true"),
        pipelines=("default<O3>",),
        machine={"processor": "one that counts", "processors": 2},
        versions={"optctx": "0.1.0"},
        ended="its budget",
    )


def _trial(number: int, goals: tuple[Goal, ...], more: int, lost: float, dice: random.Random) -> Trial:
    unroll, fast = dice.randint(1, 16), dice.random() < 0.5
    options = {"unroll-count": str(unroll), "fast": str(fast).lower()}
    if fast:
        options["depth"] = str(dice.randint(1, 5))
    options |= {f"idle-{place}": str(dice.randint(1, 1000)) for place in range(more)}
    if dice.random() < lost:
        states: list[State] = ["crashed", "timed out", "wrong result", "failed"]
        state = dice.choice(states)
        return Trial(number, options, "default<O3>", state, {}, error=f"why it {state}")
    figures = {goal.name: _figure(goal, unroll, fast, dice.random()) for goal in goals}
    kept = {"time": times(figures["time"])} if TIME in goals else {}
    return Trial(number, options, "default<O3>", "ok", figures, 0.01, attributes=kept)


def times(figure: float) -> dict[str, dict[str, float]]:
    """What a run time is kept with that is this multiple of the base's 1.2 microseconds."""
    ratio = 1 / figure
    return {
        "seconds": {"middle": 1.2e-6 * figure, "low": 1.1e-6 * figure, "high": 1.3e-6 * figure},
        "ratio": {"middle": ratio, "low": ratio / 1.02, "high": ratio * 1.03},
        "noise": {"middle": 1.0, "low": 0.99, "high": 1.01},
    }


def _figure(goal: Goal, unroll: int, fast: bool, noise: float) -> float:
    if goal is SIZE:
        return 1000 + 50 * abs(unroll - 5) + int(20 * noise)
    multiple = (0.7 if fast else 1.05) + 0.02 * noise
    return multiple if goal is TIME else 1 / multiple


def all_lost(count: int) -> Study:
    """A study in which every trial crashed, and the base as well."""
    whole = study(count, lost=1.0)
    return replace(whole, base=replace(whole.base, state="crashed", objectives={}))


def hostile() -> Study:
    """Texts that mean something to HTML, to plotly, to matplotlib and to shells, wherever there are texts."""
    names = iter(range(10_000))

    def text() -> str:
        return f"{HOSTILE}{next(names)}"

    goals = (Goal(text(), text()), Goal(text(), text(), "maximise"))
    options, pipelines, state, error = (text(), text()), (text(), text()), text(), text()
    values = [text() for _ in range(5)]
    trials = []
    for number in range(40):
        ok = number % 4 != 0
        trials.append(
            Trial(
                number,
                {options[0]: values[number % 5], options[1]: str(number % 7)},
                pipelines[number % 2],
                "ok" if ok else state,  # type: ignore[arg-type]
                {goal.name: float(number * place % 11) for place, goal in enumerate(goals, 3)} if ok else {},
                error="" if ok else error,
                attributes={text(): text(), "reproduce": text()},
            )
        )
    return Study(
        goals,
        Trial(-1, {}, pipelines[0], "ok", {goal.name: 5.0 for goal in goals}),
        tuple(trials),
        sampler=text(),
        seed=0,
        space=(text(),),
        pipelines=pipelines,
        machine={text(): text()},
        versions={text(): text()},
        ended=text(),
        file=text(),
        confirmation={"trial": 1, "gain": True, "text": text(), text(): [text(), {text(): 1}]},
    )
