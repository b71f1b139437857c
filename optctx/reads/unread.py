"""Finds and reports overrides that LLVM did not read while their context was entered or bound, and why."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from itertools import compress
from typing import Literal

from optctx._native import Reads, demangle
from optctx.engine.engine import Engine
from optctx.errors import (
    UnreadOptionError,
    UnreadOptionWarning,
    clipped,
    level_outside,
    shown,
)
from optctx.image.options import RegisteredOption
from optctx.reads.readers import functions_reading, readers_of
from optctx.values.layers import HasLayers, Layers
from optctx.values.overrides import Override

_NOT_RUN = (
    "what reads it did not run (a pass is not in the pipeline, has nothing to do, or skips optnone functions)"
)
_IDLE = (
    "LLVM read no option under it: nothing was compiled there, or on a thread that is outside the scope "
    "(optctx.wrap and optctx.propagating take a scope to other threads), or the code came from a cache"
)
_SHOWN = 3  # functions that a cause names


def why_unread(option: RegisteredOption, idle: bool) -> str:
    """Say in words what is known of an option that LLVM did not read. `idle`: it read no other one either."""
    if not option.readers:
        return "nothing in this library reads it"
    if idle:
        return _IDLE
    more = " and others" if len(option.readers) > _SHOWN else ""
    return f"{_NOT_RUN}: {', '.join(map(demangle, option.readers[:_SHOWN]))}{more}"


UnreadMode = Literal["ignore", "warn", "error"]

# Packages with frames between `judge` and the user's code. Numba compiles, and `optctx.numba` judges, inside
# calls of Numba's functions.
_BETWEEN = ("numba", "contextlib")


def marks(engine: Engine, mode: UnreadMode, parent: Layers | None, own: Iterable[Override]) -> Reads | None:
    """Make the marks for reads of a new context; None if neither it nor its parents need them.

    Reads of values that it inherits from `parent` also count for `parent`. Raises UnsupportedImageError if
    the engine cannot tell what LLVM reads.
    """
    inherited = None if parent is None else parent.reads
    if inherited is None and mode == "ignore":
        return None
    readers_of(engine)  # prepares the engine to mark reads
    if inherited is None:
        return Reads.make(engine.space, None, ())
    options = [override.option for override in own]
    hidden = [slot for option in options for slot in option.slots]
    names = {option.name for option in options}
    for slot, served in engine.plan.served.items():  # storage through which only overridden options are read
        if served and all(engine.resolve(option).name in names for option in served):
            hidden.append(slot)
    return Reads.make(engine.space, inherited, hidden)


def judge(context: HasLayers, failed: bool) -> None:
    """Warn or raise, as its `unread` says, for own overrides that LLVM has not read since the last report.

    Does nothing while a thread is inside the context or an LLVMContext is bound to it. Only warns, and never
    raises, if the block `failed`.
    """
    if context._unread == "ignore":
        return
    readers = context._layers.native.take_reads()
    if readers is None:
        return
    engine = context._layers.engine
    read = functions_reading(engine, readers)
    # Reads for debug output are not seen.
    own = context._layers.own.items()
    unread = [o for name, o in own if name not in read and engine.plan.sees_reads(o.option)]
    if not unread:
        return
    given = [clipped(" ".join(override.args())) for override in unread]
    causes = [why_unread(override.option, not read) for override in unread]
    alike = {why: ", ".join(compress(given, map(why.__eq__, causes))) for why in causes}  # each cause once
    said = "; ".join(f"{own}: {why}" for why, own in alike.items())
    text = f"LLVM did not read {len(unread)} of the options that {shown(context)} sets: {said}"
    if context._unread == "error" and not failed:
        each = tuple(f"{own}: {why}" for own, why in zip(given, causes, strict=True))
        raise UnreadOptionError(text, tuple(override.name for override in unread), each)
    with suppress(UnreadOptionWarning) if failed else nullcontext():  # in case warnings are errors
        warnings.warn(text, UnreadOptionWarning, stacklevel=level_outside(*_BETWEEN))
