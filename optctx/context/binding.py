"""Contexts that travel with an LLVMContext."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

from optctx import _native
from optctx.context.attributes import resolve
from optctx.engine.attach import is_llvmlites, made
from optctx.errors import (
    ContextMismatchError,
    ContextMismatchWarning,
    OptionTypeError,
    ProcessWideOptionError,
    ScopeError,
    UnsupportedImageError,
    shown,
)
from optctx.image.handles import llvm_context_address
from optctx.reads.unread import judge
from optctx.tasks.problems import tell

if TYPE_CHECKING:
    from llvmlite.binding.context import ContextRef

    from optctx.context.context import OptionContext
    from optctx.engine.attach import Engine

__all__ = ["OnMismatch", "bind", "bound", "unbind"]

OnMismatch = Literal["switch", "warn", "error"]

_MODES = {
    "switch": _native.OnMismatch.switch_over,
    "warn": _native.OnMismatch.warn,
    "error": _native.OnMismatch.error,
}
_SHOWN = 5  # options that a message lists


def bind(engine: Engine, context: OptionContext, llvm_context: ContextRef, on_mismatch: OnMismatch) -> None:
    """See OptionContext.bind."""
    if not is_llvmlites(engine):
        raise UnsupportedImageError(
            f"cannot bind {shown(context)} to an LLVMContext of llvmlite's: the context is for the LLVM of "
            f"{engine.image.path}; make a context for llvmlite's LLVM"
        )
    if not engine.mechanism.intercepts:
        raise UnsupportedImageError(
            f"cannot bind {shown(context)} to an LLVMContext: {engine.why_not_intercepted}; "
            "enter the context as a scope"
        )
    address = llvm_context_address(llvm_context)
    if on_mismatch not in _MODES:
        raise OptionTypeError(f'on_mismatch is "switch", "warn" or "error", found {shown(on_mismatch)}')
    exclusive = context._contents.exclusive()
    if exclusive:
        raise ProcessWideOptionError(
            f"cannot bind {shown(context)} to an LLVMContext: it changes {', '.join(exclusive)} for the "
            "whole process, and other threads would have to wait whenever LLVM runs; enter it as a scope",
            exclusive[0],
            "process-wide",
        )
    if not _native.bind(address, context._native, context, _MODES[on_mismatch]):
        raise ScopeError(
            f"cannot bind {shown(context)}: the LLVMContext at {address:#x} is bound to "
            f"{shown(bound(llvm_context))} already; unbind it first"
        )


def bound(llvm_context: ContextRef) -> OptionContext | None:
    """Return the context that is bound to an LLVMContext, or None.

    Raises:
        TypeError: `llvm_context` is not an LLVMContext of llvmlite's.
        OptctxError: The LLVMContext is closed.
    """
    return _bound(llvm_context_address(llvm_context))[0]


def _bound(address: int) -> tuple[OptionContext | None, _native.OnMismatch]:
    engine = made()
    if engine is None:  # no context was made yet
        return None, _native.OnMismatch.switch_over
    owner, mode = _native.bound(engine.index, address)
    return cast("OptionContext | None", owner), mode


def unbind(llvm_context: ContextRef) -> None:
    """End a binding, for all threads. LLVM runs that are under way finish as they began.

    If this was the last binding of its context and no thread is inside the context, its unread overrides are
    reported now (`unread` of OptionContext).

    Raises:
        ScopeError: No context is bound to the LLVMContext.
        TypeError, OptctxError: As for `bound`.
    """
    address = llvm_context_address(llvm_context)
    engine = made()
    context = cast("OptionContext | None", None if engine is None else _native.unbind(engine.index, address))
    if context is None:
        raise ScopeError(f"cannot unbind the LLVMContext at {address:#x}: no context is bound to it")
    judge(context, context._unread, failed=False)


def _mismatch(owner: OptionContext, here: OptionContext) -> str:
    """Say in words how two contexts differ; empty if they are equal."""
    if owner == here:
        return ""
    differences = owner.diff(here)
    words = [
        f"{name!r} ({shown(there)} there, {shown(now)} here)" for name, (there, now) in differences.items()
    ]
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return (
        f"LLVM runs on a module that is bound to {shown(owner)} under {shown(here)}: they differ in "
        f"{', '.join(words[:_SHOWN])}{more}; enter the bound context, or bind it with on_mismatch='switch'"
    )


def _may_run(owner: OptionContext, here: OptionContext | None, is_error: bool) -> bool:
    """Judge, on the thread that runs LLVM inside `here`, whether a module bound to `owner` may run."""
    from optctx.context.context import process_wide_values

    text = _mismatch(owner, process_wide_values(owner._engine) if here is None else here._as_seen())
    if not text:
        return True
    if is_error:
        tell(ContextMismatchError(f"nothing has been run: {text}"))
    else:
        tell(ContextMismatchWarning(text))
    return not is_error


def _cannot_enter(context: OptionContext, why: str) -> None:
    """Leave an error, on the thread that runs LLVM, for the enclosing call to raise."""
    tell(UnsupportedImageError(f"not everything has been run: cannot enter {shown(context)}: {why}"))


def _cannot_make_machine(why: str) -> None:
    """Leave an error, on the thread that runs LLVM, for the enclosing call to raise."""
    tell(
        UnsupportedImageError(
            f"the code is not what the option values in force ask for: LLVM made no target machine for them "
            f"({why}); make the target machine inside the scope"
        )
    )


_native.set_cannot_make_machine(_cannot_make_machine)
_native.set_judges(_may_run, resolve, _cannot_enter, tell)
