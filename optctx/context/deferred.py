"""Functions whose body runs after the call has returned: a scope around the call would not reach it."""

from __future__ import annotations

from optctx.errors import OptionTypeError

__all__ = ["refuse_deferred"]


def refuse_deferred(function: object) -> None:
    """Raise OptionTypeError for coroutine and generator functions, and for anything that is not callable."""
    if not callable(function):
        raise OptionTypeError(
            f"expected a function or another callable, found {function!r} of type {type(function).__name__}"
        )
    import inspect  # takes a tenth of the time of importing optctx

    deferred = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(test(each) for test in deferred for each in (function, type(function).__call__)):
        raise OptionTypeError(
            f"cannot put {function!r} inside a context: its body runs after the call has returned; "
            "use `with` in it"
        )
