"""Functions that Numba compiles: a scope around a call of one reaches its first compilation at most."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from optctx.errors import OptionTypeError, shown

if TYPE_CHECKING:
    from optctx.context.context import OptionContext

__all__ = ["decorated", "is_compiled", "use_decorator"]

Decorator = Callable[["OptionContext", Any], Any]

_decorators: list[Decorator] = []  # of `optctx.numba`, where that was imported


def use_decorator(decorator: Decorator) -> None:
    """Have `@context` make of such a function what this gives."""
    _decorators[:] = [decorator]


def is_compiled(function: object) -> bool:
    """Whether it is one of Numba's, which say so by an attribute of their class."""
    return hasattr(type(function), "__numba__")


def decorated(context: OptionContext, function: Any) -> Any:
    """Raises OptionTypeError if the program has not imported `optctx.numba`, or if that cannot compile it."""
    if not _decorators:
        raise OptionTypeError(
            f"cannot put {shown(function)} inside {context!r}: Numba compiles it once for each signature, "
            "which may be elsewhere; import optctx.numba, and Numba compiles it under this context"
        )
    return _decorators[-1](context, function)
