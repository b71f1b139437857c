"""Functions whose body runs after the call has returned: a scope around the call would not reach it.

Every way of calling a function inside a context judges it here, before the call, and its result after it: a
plain function may return what it has not yet run.
"""

from __future__ import annotations

import contextlib
import opcode
from collections.abc import Callable, Iterator
from functools import partial
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, TypeVar, cast

from optctx.errors import OptionTypeError, shown

if TYPE_CHECKING:
    from optctx.context.context import OptionContext

__all__ = ["call_inside", "refuse_deferred"]

R = TypeVar("R")

_LATER = 0x20 | 0x80 | 0x200  # of co_flags: a generator, a coroutine, an asynchronous generator
_FIRST = opcode.opmap.get("RETURN_GENERATOR", -1)  # after it the body begins
_DEEPEST = 100  # layers; a __call__ can be an object of its own class
_MANAGERS = (contextlib._GeneratorContextManager, contextlib._AsyncGeneratorContextManager)
_DEFERRED = (GeneratorType, CoroutineType, AsyncGeneratorType, *_MANAGERS)


def refuse_deferred(function: object) -> None:
    """Raise OptionTypeError for coroutine and generator functions, and for anything that is not callable.

    Functions that `contextlib.contextmanager` made count as well. Looks through functools.partial, methods,
    callable objects, and contexts as decorators.
    """
    kind = type(function)
    if kind is BuiltinFunctionType or (kind is FunctionType and _is_plain(function)):
        return
    if not callable(function):
        raise OptionTypeError(
            f"expected a function or another callable, found {shown(function)} of type {kind.__name__}"
        )
    if any(map(_is_deferred, _layers(function))):
        raise OptionTypeError(
            f"cannot put {shown(function)} inside a context: its body runs after the call has returned; "
            "use `with` in it"
        )


def call_inside(
    context: OptionContext, function: Callable[..., R], arguments: tuple[Any, ...], named: dict[str, Any]
) -> R:
    """Call a function that `refuse_deferred` accepts inside a context, and return its result.

    Raises OptionTypeError if the result is a generator, a coroutine or a context manager of contextlib's, and
    its body has not begun.
    """
    result = cast("R", context._run(function, arguments, named))
    if isinstance(result, _DEFERRED) and _has_not_begun(result):
        raise OptionTypeError(
            f"cannot run the body of {shown(result)} inside {shown(context)}: {shown(function)} returned it "
            "without running it; use `with` in that body, or return a result that is complete, such as a list"
        )
    return result


def _is_plain(function: Any) -> bool:
    """Whether the code of a Python function is certain to run in the call."""
    return not (function.__code__.co_flags & _LATER or function.__dict__)


def _layers(function: Any) -> Iterator[object]:
    """The callable, and each one that a call of it goes on to: the last one has the body."""
    for _ in range(_DEEPEST):
        yield function
        if isinstance(function, partial):
            function = function.func
        elif isinstance(function, (MethodType, staticmethod)):
            function = function.__func__
        elif isinstance(function, FunctionType):
            if function.__globals__ is not vars(contextlib) or not hasattr(function, "__wrapped__"):
                return
            function = function.__wrapped__  # a decorator of contextlib's returns what this one does
        else:
            function = type(function).__call__
            if isinstance(function, WrapperDescriptorType):  # code in C, or a class
                return


def _is_deferred(function: object) -> bool:
    import inspect  # takes a tenth of the time of importing optctx

    tests = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    return any(test(function) for test in tests)


def _has_not_begun(result: object) -> bool:
    body = result.gen if isinstance(result, _MANAGERS) else result
    prefix = next(prefix for prefix in ("gi", "cr", "ag") if hasattr(body, f"{prefix}_frame"))
    frame: FrameType | None = getattr(body, f"{prefix}_frame")
    if frame is None or getattr(body, f"{prefix}_running"):
        return False
    suspended = getattr(body, f"{prefix}_suspended", None)
    if suspended is not None:
        return not suspended
    # Python 3.10, and asynchronous generators on 3.11
    return frame.f_lasti < 0 or frame.f_code.co_code[frame.f_lasti] == _FIRST
