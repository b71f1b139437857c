"""A space that is made from what a compilation reads, and what of that changes its output."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from optctx.compiling import Job
from optctx.context import OptionContext
from optctx.engine.attach import attach
from optctx.errors import Interrupted, OptctxError
from optctx.lab.sensitivity import By, Effect, Limits, sensitivity
from optctx.lab.sweep.grid import DEFAULT
from optctx.lab.tuning.space import Dimension
from optctx.lab.tuning.values import Choices
from optctx.trust import TUNING
from optctx.values import Option, registry
from optctx.values.read_values import value_text
from optctx.values.registry import find

__all__ = ["propose"]

_NUMBERS = ("int", "uint", "int64", "uint64")
_POWERS = tuple(str(1 << place) for place in range(11))  # 1 to 1024
_TRUSTED = ("tuning",)


def propose(
    job: Job,
    count: int = 8,
    *,
    by: By = "size",
    exclude: Collection[str] = (),
    limits: Limits | None = None,
    progress: Callable[[int], None] = lambda total: None,
) -> list[Dimension]:
    """The options that change the output of a compilation most, with values by their types.

    A `sensitivity` tries each option that the compilation reads, in fresh processes. Of the options that
    change the output, the `count` with the largest effects are proposed: both values of a bool, every choice
    of an enum, powers of two and what was tried for a number; values that crashed or did not end are left
    out, and so are options that do more than change the code (`Option.trust`). Every dimension has "default"
    as well.

    Raises OptctxError as `sensitivity` does, and if no option changes the output.
    """
    try:
        report = sensitivity(job, by=by, exclude=tuple(exclude), limits=limits or Limits(), progress=progress)
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
    dead = {value_text(trial.value) for trial in effect.trials if trial.dead}
    tried = [value_text(trial.value) for trial in effect.trials if trial.value is not None]
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
