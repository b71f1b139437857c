"""Lookups without an explicit context: in the current scope, or in the process-wide values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

from optctx.context.context import OptionContext, process_wide_values, seen
from optctx.engine.attach import attach
from optctx.errors import OptionTypeError
from optctx.hosts.llvmlite import HOST
from optctx.image.loaded import Image
from optctx.reads.unread import UnreadMode
from optctx.travelling.bindings import bound_to
from optctx.values.read_values import Value

if TYPE_CHECKING:
    from llvmlite.binding.context import ContextRef

__all__ = ["bound", "contained", "current", "lookup", "tool"]

T = TypeVar("T")


def current(image: Image | None = None) -> OptionContext:
    """Return the context that this task is in, with what was set inside it (`OptionContext.with_sets`).

    Outside all scopes, returns a context of the process-wide values of this moment. `image`: of which LLVM,
    from `loaded_image`; None means llvmlite's.

    Raises ScopeError if this thread is inside a scope of another task (see OptionContext).
    """
    engine = attach(image)
    return seen(engine, "say what is current") or process_wide_values(engine)


def bound(llvm_context: ContextRef) -> OptionContext | None:
    """Return the context that is bound to an LLVMContext, or None.

    Raises:
        TypeError: `llvm_context` is not an LLVMContext of llvmlite's.
        OptctxError: The LLVMContext is closed.
    """
    return cast("OptionContext | None", bound_to(llvm_context))


def contained(image: Image | None = None) -> OptionContext:
    """Make a context without overrides, for code that sets LLVM's options itself.

    It has the values that this task has now. Values that code inside gives to LLVM's own setters end with the
    block: `with optctx.contained(): ...` leaves the process as it was. `image` as in `OptionContext`. Raises
    as `OptionContext` does.
    """
    return _apart(OptionContext(image=image))


def tool(
    args: Iterable[str] | str = (), *, unread: UnreadMode = "ignore", image: Image | None = None
) -> OptionContext:
    """Make a context for a tool that runs in this process: a compiler or linker that parses a command line,
    resets all options, or both.

    The tool starts from the registered values, with `args` on top. It sees nothing of the contexts around it
    and nothing that was set process-wide. What it sets and resets ends with the block, even if the block
    fails; the caller's values and occurrences are what they were. Tools on other threads, and a tool inside a
    tool, do not affect each other. Options that contexts cannot hold are still set for the whole process.

    Args:
        args: A command line, as in `OptionContext.from_args`.
        unread, image: As in `OptionContext`.

    Raises as `OptionContext.from_args` does.
    """
    return _apart(OptionContext.from_args(args, base="defaults", unread=unread, image=image))


def _apart(context: OptionContext) -> OptionContext:
    """Have a new context share nothing where threads take turns: what is set inside must not reach others."""
    context._layers.native.keep_apart()
    return context


@overload
def lookup(name: str, *, llvm_context: ContextRef | None = None, image: Image | None = None) -> Value: ...
@overload
def lookup(
    name: str, type: type[T], *, llvm_context: ContextRef | None = None, image: Image | None = None
) -> T: ...
def lookup(
    name: str,
    type: type[Any] | None = None,
    *,
    llvm_context: ContextRef | None = None,
    image: Image | None = None,
) -> Any:
    """Return the value of an option: as bound to `llvm_context`, if it is bound, else as in `current()`.

    `image`: of which LLVM, from `loaded_image`; None means llvmlite's, which an LLVMContext belongs to.

    Raises as `OptionContext.get`, `bound` and `current` do, and OptionTypeError for an LLVMContext together
    with another LLVM.
    """
    if llvm_context is not None and image is not None and not HOST.has(image):
        raise OptionTypeError(
            f"an LLVMContext of llvmlite's has no values of the LLVM of {image.path}; give one of the two"
        )
    context = (bound(llvm_context) if llvm_context is not None else None) or current(image)
    return context.get(name) if type is None else context.get(name, type)
