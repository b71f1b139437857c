"""`wrap`: a function that is called later, or elsewhere, in the context of here and now."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MethodType
from typing import Any, Generic, ParamSpec, TypeVar, cast

from optctx.context import OptionContext, current
from optctx.context.deferred import refuse_deferred

__all__ = ["Wrapped", "wrap"]

P = ParamSpec("P")
R = TypeVar("R")


class Wrapped(Generic[P, R]):
    """A function and the context that every call of it runs in. Can be pickled if the function can."""

    def __init__(self, function: Callable[P, R], context: OptionContext) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._context = context

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return cast("R", self._context._run(self._function, args, kwargs))

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """In a class it is a method, as the function would be."""
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<{self._function!r} in {self._context!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Wrapped, (self._function, self._context)


def wrap(function: Callable[P, R], /) -> Wrapped[P, R]:
    """The function, to be called on any thread or in another process in the context that is current now.

    Outside any scope that is a context of the process-wide values of this moment, as in `current()`: what is
    set process-wide later does not reach the calls. Each call enters the context on the thread that makes it,
    for its own length only, and waits there as `with` does. Functions, methods, partial objects and any
    other callable; what comes back can be pickled if the function and the context can.

        loop.run_in_executor(None, optctx.wrap(compile), module)

    Raises OptionTypeError for what cannot be called, and for coroutine and generator functions, whose body
    runs after the call is over; ScopeError as `current()` does.
    """
    refuse_deferred(function)
    return Wrapped(function, current())
