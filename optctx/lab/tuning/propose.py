"""A space that is made from what a compilation reads, and what of that changes its output."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from optctx import Option, registry
from optctx.compiling import Job
from optctx.compiling.facts import INTEGER_RANGES, trusted
from optctx.errors import OptctxError
from optctx.lab.outcome import Limits
from optctx.lab.rank import Effect, rank
from optctx.lab.space import DEFAULT, Choices, Dimension
from optctx.lab.trial import FIGURES, goal_named

_RANKED = ("size", "instructions")  # goals whose figures are the same each time
_POWERS = tuple(str(1 << place) for place in range(11))  # 1 to 1024
_COMPILATIONS = 200  # of a ranking: the largest effects are found first


def propose(
    job: Job,
    count: int = 8,
    *,
    by: str = "size",
    trials: int | None = _COMPILATIONS,
    seconds: float | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    progress: Callable[[int], None] = lambda total: None,
) -> list[Dimension]:
    """The tuning options that change a compilation most, with values by their types.

    A `rank` tries the options that the compilation reads and that do no more than change the code
    (`Option.trust`), in at most `trials` compilations (None: all) and `seconds`. Those of which a value makes
    the goal `by` better come first, the largest effect first; the others may do so with other values, or
    together. An option has both values of a bool, every choice of an enum, powers of two and what was tried
    for a number, and "default"; values that crashed or did not end are left out. For a goal that says nothing
    of what one option does, such as "time" or "command", it goes by the largest effects on the size.

    Raises OptctxError as `rank` does, and if no option changes the output.
    """
    name = by.partition(":")[0]
    goal = goal_named(by if name in _RANKED else "size")
    options = registry(job.image).items()
    tuning = [name for name, option in options if option.trust == "tuning"]
    ranking = rank(
        job,
        by=f"{goal.name}:{goal.direction[:3]}",
        only=tuning,
        trials=trials,
        seconds=seconds,
        limits=limits,
        progress=progress,
    )

    def change(effect: Effect) -> float:  # the largest for the better, below 0; or 0
        done = [trial for trial in effect.trials if trial.state == "ok"]
        return min(0.0, *(goal.sign * ranking.change(trial, goal.name) for trial in done))

    effects = ranking.changing
    if name in FIGURES:
        effects = sorted(effects, key=change)
    dimensions: list[Dimension] = []
    for effect in effects:
        option = registry(job.image)[effect.option]
        texts = [text for text in _texts(option, effect) if trusted(option.name, text, job.image)]
        if texts and len(dimensions) < count:
            dimensions.append(Dimension(option.name, Choices(tuple(dict.fromkeys([DEFAULT, *texts])))))
    if not dimensions:
        raise OptctxError(
            "there is nothing to propose: no option that this compilation reads changes its output"
        )
    return dimensions


def _texts(option: Option, effect: Effect) -> Sequence[str]:
    if option.type in ("bool", "boolOrDefault"):
        return ("true", "false")
    dead = {trial.options[effect.option] for trial in effect.trials if trial.state != "ok"}
    tried = [trial.options[effect.option] for trial in effect.trials]
    more = option.choices if option.type == "enum" else _POWERS if option.type in INTEGER_RANGES else ()
    return [text for text in (*more, *tried) if text not in dead]
