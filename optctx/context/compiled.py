"""Functions that Numba compiles: a scope around a call reaches at most the function's first compilation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from optctx.errors import OptionTypeError, shown

if TYPE_CHECKING:
    from optctx.context.context import OptionContext

__all__ = ["decorated", "is_compiled", "use_decorator"]

Decorator = Callable[["OptionContext", Any], Any]

_decorators: list[Decorator] = []  # that of `optctx.numba`, once imported


def use_decorator(decorator: Decorator) -> None:
    """Have `@context` pass functions that Numba compiles to `decorator`, and return its result."""
    _decorators[:] = [decorator]


def is_compiled(function: object) -> bool:
    """Whether Numba compiles the function; the classes of such functions have an attribute `__numba__`."""
    return hasattr(type(function), "__numba__")


def decorated(context: OptionContext, function: Any) -> Any:
    """Compile a Numba function under `context`.

    Raises OptionTypeError if the program has not imported `optctx.numba`, or if that refuses the function.
    """
    if not _decorators:
        raise OptionTypeError(
            f"cannot put {shown(function)} inside {shown(context)}: Numba compiles it once for each "
            "signature, which may be elsewhere; import optctx.numba, and Numba compiles it under this context"
        )
    return _decorators[-1](context, function)
