"""The context that LLVM sees here, and lookups in it, or else in the process-wide values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar, cast, overload

from optctx.context.bases import as_seen, thread_scope
from optctx.context.context import OptionContext
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.image.loaded import Image
from optctx.reads.unread import UnreadMode
from optctx.tasks.scopes import entered
from optctx.travelling.bindings import bound_to
from optctx.values.layers import Layers
from optctx.values.read_values import Value

T = TypeVar("T")


def current(image: Image | None = None) -> OptionContext:
    """Return the context that this task is in, with what was set inside it (`OptionContext.with_sets`).

    Outside all scopes, returns a context of the process-wide values of this moment, or of the registered
    values under `attach(outside="defaults")`. `image`: of which LLVM, from `loaded_image`; None means
    llvmlite's.

    Raises ScopeError if this thread is inside a scope of another task (see OptionContext).
    """
    engine = attach(image)
    return seen(engine, "say what is current") or values_outside(engine)


def values_outside(engine: Engine) -> OptionContext:
    """Return a context of what the image reads outside all scopes at this moment."""
    return OptionContext._of(Layers.outside(engine), None)


def bound(llvm_context: object, image: Image | None = None) -> OptionContext | None:
    """Return the context that is bound to an LLVMContext, or None.

    Args:
        llvm_context: llvmlite's object (`llvmlite.binding.create_context()`). For another LLVM, its address:
            an int, a `ctypes.c_void_p` or another pointer of ctypes.
        image: Which LLVM it belongs to, from `loaded_image`; None means llvmlite's.

    Raises:
        TypeError: `llvm_context` is not such a value.
        OptctxError: The LLVMContext is closed, or a null or wild pointer.
    """
    return cast("OptionContext | None", bound_to(llvm_context, image))


def contained(image: Image | None = None) -> OptionContext:
    """Make a context without overrides, for code that sets LLVM's options itself.

    It has the values that this task has now. Values that code inside gives to LLVM's own setters end with the
    block: `with optctx.contained(): ...` leaves the process as it was. `image` as in `OptionContext`. Raises
    as `OptionContext` does.
    """
    return _containing(OptionContext(image=image))


def tool(
    args: Iterable[str] | str = (), *, unread: UnreadMode = "ignore", image: Image | None = None
) -> OptionContext:
    """Make a context for a tool that runs in this process: a compiler or linker that parses a command line,
    resets all options, or both.

    The tool starts from the registered values, with `args` on top. It sees nothing of the contexts around it
    and nothing that was set process-wide. What it sets and resets ends with the block, even if the block
    fails; the caller's values and occurrences are what they were. Tools on other threads, and a tool inside a
    tool, do not affect each other. None of this holds for options that contexts cannot hold: the tool sees
    their process-wide values, and sets them for the whole process.

    Args:
        args: A command line, as in `OptionContext.from_args`.
        unread, image: As in `OptionContext`.

    Raises as `OptionContext.from_args` does.
    """
    return _containing(OptionContext.from_args(args, base="defaults", unread=unread, image=image))


def _containing(context: OptionContext) -> OptionContext:
    """Have a new context contain what is set inside, without a warning."""
    context._containing = True
    return context


@overload
def lookup(name: str, *, llvm_context: object | None = None, image: Image | None = None) -> Value: ...
@overload
def lookup(
    name: str, type: type[T], *, llvm_context: object | None = None, image: Image | None = None
) -> T: ...
def lookup(
    name: str,
    type: type[Any] | None = None,
    *,
    llvm_context: object | None = None,
    image: Image | None = None,
) -> Any:
    """Return the value of an option: as bound to `llvm_context`, if it is bound, else as in `current()`.

    `llvm_context`, `image`: as for `bound`.

    Raises as `OptionContext.get`, `bound` and `current` do.
    """
    context = (bound(llvm_context, image) if llvm_context is not None else None) or current(image)
    return context.get(name) if type is None else context.get(name, type)


def seen(engine: Engine, what: str) -> OptionContext | None:
    """Return the innermost context of this task or of C++ code below it. None outside any.

    What code inside has given to LLVM's own setters is among its values (`OptionContext.with_sets`). `what`:
    what the caller is about to do, for messages. Raises ScopeError as `check_in_line` does.
    """
    context = cast("OptionContext | None", entered(engine, what))
    scope = thread_scope(engine)
    if scope is None:
        return None if context is None else as_seen(context)
    layers = Layers.of_thread(engine, scope)
    return OptionContext._of(layers.beside(()), layers, "ignore", ())  # reads in it count for the scope
