"""Finds and reports overrides that LLVM did not read while their context was entered or bound."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from types import FrameType
from typing import TYPE_CHECKING, Literal

from optctx._native import Reads
from optctx.engine.attach import Engine
from optctx.engine.reader_index import reader_index
from optctx.engine.why_unread import why_unread
from optctx.errors import OptionTypeError, UnreadOptionError, UnreadOptionWarning, clipped, shown

if TYPE_CHECKING:
    from optctx.context.context import OptionContext
    from optctx.values.overrides import Override

__all__ = ["UnreadMode", "check_mode", "judge", "marks"]

UnreadMode = Literal["ignore", "warn", "error"]

_IDLE = (
    "LLVM read no option under it: nothing was compiled there, or on a thread that is outside the scope "
    "(optctx.wrap and optctx.propagating take a scope to other threads)"
)
# Modules with frames between `judge` and the user's code. Numba compiles, and `optctx.numba` judges, inside
# calls of Numba's functions.
_BETWEEN = (__name__.partition(".")[0] + ".", "numba.", "contextlib")


def check_mode(mode: object) -> None:
    """Raise OptionTypeError if `mode` is not an UnreadMode."""
    if mode not in ("ignore", "warn", "error"):
        raise OptionTypeError(f'unread is "ignore", "warn" or "error", found {shown(mode)}')


def marks(
    engine: Engine, mode: UnreadMode, parent: OptionContext | None, own: Iterable[Override]
) -> Reads | None:
    """Make the marks for reads of a new context; None if neither it nor its parents need them.

    Reads of values that it inherits from `parent` also count for `parent`. Raises UnsupportedImageError if
    the engine cannot tell what LLVM reads.
    """
    inherited = parent._native.reads if parent is not None else None
    if inherited is None and mode == "ignore":
        return None
    reader_index(engine)  # prepares the engine to mark reads
    if inherited is None:
        return Reads.make(engine.space)
    options = [override.option for override in own]
    hidden = [slot for option in options for slot in (option.slot, option.variable_slot) if slot is not None]
    names = {option.record.name for option in options}
    for slot, served in engine.plan.served.items():  # storage through which only overridden options are read
        if served and all(engine.resolve(option).record.name in names for option in served):
            hidden.append(slot)
    return Reads.inherit(engine.space, inherited, hidden)


def judge(context: OptionContext, mode: UnreadMode, *, failed: bool) -> None:
    """Warn or raise, as `mode` says, for own overrides that LLVM has not read since the last report.

    Does nothing while a thread is inside the context or an LLVMContext is bound to it. Only warns, and never
    raises, if the block `failed`.
    """
    if mode == "ignore":
        return
    readers = context._native.take_reads()
    if readers is None:
        return
    engine = context._engine
    read = reader_index(engine).functions(readers)
    ran = {function for functions in read.values() for function in functions}
    # Reads of options that cannot be scoped are not seen, so they are not judged. Nor are those of `debug`.
    judged = {name: o for name, o in context._contents.own.items() if o.setting is not None}
    unread = [o for name, o in judged.items() if name not in read and engine.plan.sees_reads(o.option)]
    if not unread:
        return
    idle = "" if ran else _IDLE
    said = tuple(
        f"{clipped(' '.join(override.args()))}: {why_unread(override.option, ran, idle)}"
        for override in unread
    )
    text = f"LLVM did not read {len(unread)} of the options that {shown(context)} sets: {'; '.join(said)}"
    if mode == "error" and not failed:
        raise UnreadOptionError(text, tuple(override.name for override in unread), said)
    with suppress(UnreadOptionWarning) if failed else nullcontext():  # in case warnings are errors
        warnings.warn(text, UnreadOptionWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """The stack level of the `with` statement, or of the call in a context, that `judge` warns about."""
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_BETWEEN):
        frame = frame.f_back
        level += 1
    return level - 1
