"""Contexts that travel with an LLVMContext, and who owns the values that LLVM sees on a thread."""

from __future__ import annotations

from typing import Literal, TypeAlias, cast

from optctx import _native
from optctx.engine.attach import made
from optctx.engine.engine import Engine
from optctx.engine.host import host_of
from optctx.errors import (
    ContextMismatchError,
    ContextMismatchWarning,
    ScopeError,
    UnsupportedImageError,
    check_choice,
    shown,
)
from optctx.image.loaded import Image
from optctx.reads.unread import judge, marks
from optctx.tasks.problems import tell, tell_of
from optctx.values.layers import HasLayers, Layers, set_inside
from optctx.wording import first_few

OnMismatch = Literal["switch", "warn", "error"]
Owner: TypeAlias = HasLayers | Layers  # a context, or the layers of a function's attribute


def bind(context: HasLayers, llvm_context: object, on_mismatch: OnMismatch) -> None:
    """See OptionContext.bind."""
    layers = context._layers
    engine = layers.engine
    host = host_of(engine.image)
    if not engine.intercepts:
        raise UnsupportedImageError(
            f"cannot bind {shown(context)} to an LLVMContext: {engine.not_intercepted}; "
            "enter the context as a scope"
        )
    address = host.llvm_context_address(llvm_context)
    check_choice("on_mismatch", on_mismatch, OnMismatch)
    if on_mismatch != "switch" and not host.reports_calls:
        raise UnsupportedImageError(
            f'cannot bind {shown(context)} with on_mismatch="{on_mismatch}": the program calls the LLVM of '
            f'{engine.image.path} itself, and optctx cannot raise anything there; use "switch"'
        )
    if not _native.bind(address, layers.native, context, _native.OnMismatch[on_mismatch]):
        raise ScopeError(
            f"cannot bind {shown(context)}: the LLVMContext at {address:#x} is bound to "
            f"{shown(bound_to(llvm_context, engine.image))} already; unbind it first"
        )


def bound_to(llvm_context: object, image: Image | None) -> HasLayers | None:
    """Return the context that is bound to an LLVMContext, or None. Raises as `optctx.bound` does."""
    engine = made(image)
    address = host_of(image).llvm_context_address(llvm_context)
    if engine is None:  # no context was made yet
        return None
    return cast("HasLayers | None", _native.bound(engine.index, address))


def unbind(llvm_context: object, image: Image | None = None) -> None:
    """End a binding, for all threads. LLVM runs that are under way finish as they began.

    If this was the last binding of its context and no thread is inside the context, its unread overrides are
    reported now (`unread` of OptionContext). `llvm_context`, `image`: as for `optctx.bound`.

    Raises:
        ScopeError: No context is bound to the LLVMContext.
        TypeError, OptctxError: As for `optctx.bound`.
    """
    engine = made(image)
    address = host_of(image).llvm_context_address(llvm_context)
    context = cast("HasLayers | None", None if engine is None else _native.unbind(engine.index, address))
    if context is None:
        raise ScopeError(f"cannot unbind the LLVMContext at {address:#x}: no context is bound to it")
    judge(context, failed=False)


def seen_by(engine: Engine, owner: Owner | None) -> Layers:
    """Return the layers of an owner as this thread sees them inside, with what was set there.

    Reads of what is made on top of them count for the owner. None: this thread is in no scope of Python's; it
    sees the innermost one that C++ code has entered here, or what is outside.
    """
    if owner is None:
        scope = _native.thread_scope(engine.index)
        return Layers.outside(engine) if scope is None else Layers.of_thread(engine, scope)
    layers = owner if isinstance(owner, Layers) else owner._layers
    found = set_inside(owner, layers)
    if found is None:
        return layers
    seen, new = found
    seen.make_native(marks(engine, "ignore", layers, new))
    return seen


def _may_run(owner: HasLayers, inside: Owner | None, is_error: bool) -> bool:
    """Judge, on the thread that runs LLVM `inside` a context, whether a module bound to `owner` may run."""
    there = owner._layers
    here = seen_by(there.engine, inside)
    if there == here:
        return True
    words = [
        f"{name!r} ({shown(there.look_up(name))} there, {shown(here.look_up(name))} here)"
        for name in there.differing(here)
    ]
    text = (
        f"LLVM runs on a module that is bound to {shown(there)} under {shown(here)}: they differ in "
        f"{first_few(words)}; enter the bound context, or bind it with on_mismatch='switch'"
    )
    if is_error:
        tell(ContextMismatchError(f"nothing has been run: {text}"))
    else:
        tell(ContextMismatchWarning(text))
    return not is_error


def _cannot_run_in(context: Owner, why: str) -> None:
    """Leave an error, on the thread that runs LLVM, for the enclosing call to raise."""
    engine = (context if isinstance(context, Layers) else context._layers).engine
    tell_of(
        engine.index,
        UnsupportedImageError(f"not everything has been run: cannot enter {shown(context)}: {why}"),
    )


def _cannot_make_machine(image: int, why: str) -> None:
    """Leave an error, on the thread that runs LLVM, for the enclosing call to raise."""
    tell_of(
        image,
        UnsupportedImageError(
            f"the code is not what the option values in force ask for: LLVM made no target machine for them "
            f"({why}); make the target machine inside the scope"
        ),
    )


_native.set_callbacks(
    may_run=_may_run,
    cannot_run_in=_cannot_run_in,
    cannot_make_machine=_cannot_make_machine,
    leave_problem=tell,
)
