"""`wrap`: a function that runs in the current context later, or on another thread."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar

from optctx.context import OptionContext, current
from optctx.context.inputs import call_inside, refuse_deferred

__all__ = ["Wrapped", "wrap"]

P = ParamSpec("P")
R = TypeVar("R")


class Wrapped(Generic[P, R]):
    """A function, and the context that each call runs in. Can be pickled if both can."""

    def __init__(self, function: Callable[P, R], context: OptionContext) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._context = context

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return call_inside(self._context, self._function, args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind to an instance, as a function in a class does."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._function!r} in {self._context!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Wrapped, (self._function, self._context)


def wrap(function: Callable[P, R], /) -> Wrapped[P, R]:
    """Return a function that calls `function` in the context that is current now.

    It can be called on any thread, and in another process. Each call enters the context on its own thread,
    for its own duration. Outside all scopes the current context has the process-wide values of this moment,
    so later process-wide changes do not reach the calls. Takes any callable. The result can be pickled if the
    function and the context can.

        loop.run_in_executor(None, optctx.wrap(compile), module)

    Raises:
        OptionTypeError: `function` cannot be called, or is one that `OptionContext.run` refuses. A call
            raises it for the results that `run` refuses.
        ScopeError: As for `current()`.
    """
    refuse_deferred(function)
    return Wrapped(function, current())
