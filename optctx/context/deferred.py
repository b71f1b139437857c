"""Functions whose body runs after the call has returned: a scope around the call would not reach it."""

from __future__ import annotations

import inspect

from optctx.errors import OptionTypeError

__all__ = ["refuse_deferred"]

_DEFERRED = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def refuse_deferred(function: object) -> None:
    """Raise OptionTypeError for coroutine and generator functions, and for anything that is not callable."""
    if not callable(function):
        raise OptionTypeError(
            f"expected a function or another callable, found {function!r} of type {type(function).__name__}"
        )
    if any(test(each) for test in _DEFERRED for each in (function, type(function).__call__)):
        raise OptionTypeError(
            f"cannot put {function!r} inside a context: its body runs after the call has returned; "
            "use `with` in it"
        )
