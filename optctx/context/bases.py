"""Where a new context starts: in which LLVM, and on top of which values, such as those seen here and now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Union

from optctx import _native
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import OptionTypeError, ScopeError, shown
from optctx.image.loaded import Image
from optctx.tasks.scopes import entered
from optctx.travelling.bindings import seen_by
from optctx.values.layers import Layers, set_inside

if TYPE_CHECKING:
    from optctx.context.context import OptionContext

Base = Union[Literal["inherit", "defaults"], "OptionContext"]


def layers_of_base(base: Base, image: Image | None) -> Layers:
    """Return the layers that a new context starts from, of an LLVM that is attached.

    That is the LLVM of the image, that of the base, or llvmlite's. Raises OptionTypeError if `base` is not a
    Base, or for another LLVM than the image, and ScopeError for "inherit" as `check_in_line` does.
    """
    if isinstance(base, _native.ScopeBase):
        layers = base._layers
        if image is not None and attach(image) is not layers.engine:
            raise OptionTypeError(
                f"a context for the LLVM of {image.path} cannot have the base {shown(base)}, which is for "
                f"that of {layers.engine.image.path}; give a base of the same LLVM, or none"
            )
        attach(layers.engine.image)  # another thread may have detached
        return layers
    engine = attach(image)
    if isinstance(base, str) and base == "inherit":
        context = entered(engine, "inherit from the current context")
        if (scope := thread_scope(engine)) is not None:
            return Layers.of_thread(engine, scope)
        return Layers.outside(engine) if context is None else seen_by(engine, context)
    if isinstance(base, str) and base == "defaults":
        return Layers.registered(engine)
    raise OptionTypeError(f'base is "inherit", "defaults" or an OptionContext, found {shown(base)}')


def thread_scope(engine: Engine) -> _native.Context | None:
    """Return the context of this thread's scope of C++ code, if it hides the one that the task is in."""
    return _native.thread_scope(engine.index) if _native.in_line() else None


def seen_inside(context: OptionContext) -> OptionContext:
    """Return a context as code inside sees it. Raises ScopeError as `OptionContext.with_sets` does."""
    engine = context._layers.engine
    innermost = entered(engine, f"ask what was set inside {shown(context)}")
    if innermost is not context or thread_scope(engine) is not None:
        raise ScopeError(
            f"cannot ask what was set inside {shown(context)}: it is not the innermost context that this "
            "thread is inside; ask inside its block"
        )
    return as_seen(context)


def as_seen(context: OptionContext) -> OptionContext:
    """Return a context, on a thread inside it, or a new one if code inside has used LLVM's setters."""
    found = set_inside(context, context._layers)
    if found is None:
        return context
    layers, new = found
    return context._of(layers, context._layers, "ignore", new)
