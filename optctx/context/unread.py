"""Overrides that LLVM did not read while their scope was entered: what is kept to know, and what is said."""

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
from optctx.errors import OptionTypeError, UnreadOptionError, UnreadOptionWarning, shown

if TYPE_CHECKING:
    from optctx.context.context import OptionContext
    from optctx.context.override import Override

__all__ = ["UnreadMode", "check_mode", "judge", "marks"]

UnreadMode = Literal["ignore", "warn", "error"]

_IDLE = (
    "LLVM read no option under it: nothing was compiled there, or on a thread that is outside the scope "
    "(optctx.wrap and optctx.propagating take a scope to other threads)"
)
# Numba compiles where its functions are called, and there `optctx.numba` judges.
_BETWEEN = (__name__.partition(".")[0] + ".", "numba.", "contextlib")


def check_mode(mode: object) -> None:
    """Raises OptionTypeError for what is no UnreadMode."""
    if mode not in ("ignore", "warn", "error"):
        raise OptionTypeError(f'unread is "ignore", "warn" or "error", found {shown(mode)}')


def marks(
    engine: Engine, mode: UnreadMode, parent: OptionContext | None, own: Iterable[Override]
) -> Reads | None:
    """Where the reads of a new context are marked; None if no part of the program asks.

    What is read of the values that it has from `parent` counts there, too. Raises UnsupportedImageError where
    it cannot be known what is read.
    """
    inherited = parent._native.reads if parent is not None else None
    if inherited is None and mode == "ignore":
        return None
    reader_index(engine)  # from now on reads can be told
    if inherited is None:
        return Reads.make(engine.space)
    options = [override.option for override in own]
    hidden = [slot for option in options for slot in (option.slot, option.variable_slot) if slot is not None]
    names = {option.record.name for option in options}
    for slot, served in engine.plan.served.items():  # which they have read through storage of their own
        if served and all(engine.resolve(option).record.name in names for option in served):
            hidden.append(slot)
    return Reads.inherit(engine.space, inherited, hidden)


def judge(context: OptionContext, mode: UnreadMode, *, failed: bool) -> None:
    """Of a context that was left: warns of its own overrides that nothing read since last time, or raises.

    Says nothing while any thread is inside, or it is bound. If the block `failed`, nothing is raised on top
    of that.
    """
    if mode == "ignore":
        return
    readers = context._native.take_reads()
    if readers is None:
        return
    engine = context._engine
    read = reader_index(engine).functions(readers)
    ran = {function for functions in read.values() for function in functions}
    # What cannot be scoped cannot be judged, because its reads are not seen. Nor `debug`.
    judged = {name: o for name, o in context._contents.own.items() if o.setting is not None}
    unread = [o for name, o in judged.items() if name not in read and engine.plan.sees_reads(o.option)]
    if not unread:
        return
    idle = "" if ran else _IDLE
    said = tuple(
        f"{' '.join(override.args())}: {why_unread(override.option, ran, idle)}" for override in unread
    )
    text = f"LLVM did not read {len(unread)} of the options that {shown(context)} sets: {'; '.join(said)}"
    if mode == "error" and not failed:
        raise UnreadOptionError(text, tuple(override.name for override in unread), said)
    with suppress(UnreadOptionWarning) if failed else nullcontext():  # where warnings are errors
        warnings.warn(text, UnreadOptionWarning, stacklevel=_callers_level())


def _callers_level() -> int:
    """For a warning of `judge`: the `with` statement, or the call of what is run in a context."""
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_BETWEEN):
        frame = frame.f_back
        level += 1
    return level - 1
