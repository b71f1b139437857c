"""A space that is made from what a compilation reads, and what of that changes its output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from optctx.context import OptionContext
from optctx.engine.attach import attach
from optctx.errors import Interrupted, OptctxError
from optctx.fresh import Job
from optctx.lab.rank import Effect, rank
from optctx.lab.space import DEFAULT, Choices, Dimension
from optctx.trust import TUNING
from optctx.values import Option, registry
from optctx.values.registry import find

__all__ = ["propose"]

_NUMBERS = ("int", "uint", "int64", "uint64")
_POWERS = tuple(str(1 << place) for place in range(11))  # 1 to 1024
_TRUSTED = ("tuning",)


def propose(
    job: Job,
    count: int = 8,
    *,
    by: str = "size",
    exclude: Collection[str] = (),
    trials: int | None = None,
    progress: Callable[[int], None] = lambda total: None,
) -> list[Dimension]:
    """The options that change the output of a compilation most, with values by their types.

    A `rank` tries each option that the compilation reads, in at most `trials` compilations. Of those that
    change the output, the `count` with the largest effects are proposed: both values of a bool, every choice
    of an enum, powers of two and what was tried for a number; values that crashed or did not end are left
    out, and so are options that do more than change the code (`Option.trust`). Every dimension has "default"
    as well.

    Raises OptctxError as `rank` does, and if no option changes the output.
    """
    try:
        report = rank(job, by=by, exclude=tuple(exclude), trials=trials, progress=progress)
    except Interrupted:  # a ranking of some options proposes nothing
        raise KeyboardInterrupt from None
    dimensions: list[Dimension] = []
    for effect in report.changing:
        option = registry()[effect.option]
        if len(dimensions) == count:
            break
        if option.trust not in _TRUSTED:
            continue
        texts = [text for text in _texts(option, effect) if _taken(option.name, text)]
        if texts:
            dimensions.append(Dimension(option.name, Choices((DEFAULT, *dict.fromkeys(texts)))))
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
    more = option.choices if option.type == "enum" else _POWERS if option.type in _NUMBERS else ()
    return [text for text in (*more, *tried) if text not in dead]


def _taken(name: str, text: str) -> bool:
    """Whether LLVM takes the value, and is known to survive it."""
    engine = attach()
    option = engine.resolve(find(engine, name))
    try:
        TUNING.check_value(option, name, OptionContext({name: text})[name])
    except OptctxError:
        return False
    return True
