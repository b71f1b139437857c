"""What a caller may pass where a context is made or looked into, and what is said of anything else.

Functions among it. A scope around a call would not reach a body that runs after the call has returned: such a
function is refused before it is called, and a result whose body has not begun is refused after that. One that
Numba compiles is compiled under the context, because a scope reaches at most its first compilation.
"""

from __future__ import annotations

import contextlib
import opcode
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial, wraps
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
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar, cast

from optctx.engine.attach import attached
from optctx.engine.engine import Engine
from optctx.errors import OptionTypeError, clipped, shown
from optctx.image.abi import type_name
from optctx.image.options import RegisteredOption
from optctx.values.read_values import python_types
from optctx.values.texts import plain
from optctx.wording import did_you_mean, nearest

if TYPE_CHECKING:
    from optctx.context.context import OptionContext


class ContextType(ABCMeta):
    """The metaclass of OptionContext: `with OptionContext:` raises an error that says what to write."""

    if not TYPE_CHECKING:  # where `with OptionContext:` stays an error

        def __enter__(cls) -> NoReturn:
            raise OptionTypeError(
                f"cannot enter the class {cls.__name__}: expected a context; make one: "
                f'with {cls.__name__}({{"unroll-count": 4}}):'
            )

        def __exit__(cls, *error: object) -> None:
            """Do nothing: `with` looks for it before it calls `__enter__`, which raises."""


def named_values(engine: Engine, overrides: object, keywords: Mapping[str, object]) -> dict[str, object]:
    """Merge a mapping of overrides, or None, with keywords, which have `_` for `-`, into name -> value.

    Raises OptionTypeError if `overrides` is not a mapping.
    """
    if overrides is None:
        values: dict[str, object] = {}
    elif isinstance(overrides, Mapping):
        values = {cast("str", plain(name)): value for name, value in overrides.items()}
    else:
        raise OptionTypeError(
            "overrides are a mapping from option name to value, such as {'unroll-count': 4}, found "
            f"{shown(overrides)} of type {type(overrides).__name__}{_instead(overrides)}"
        )
    for keyword, value in keywords.items():
        name = _option_name(engine, keyword)
        values.pop(name, None)  # the last one counts, also among several names of one option
        values[name] = value
    return values


def _option_name(engine: Engine, keyword: str) -> str:
    """Return the name of the option that a keyword stands for."""
    dashed = keyword.replace("_", "-")
    return keyword if keyword in engine.options else dashed


def _instead(overrides: object) -> str:
    if isinstance(overrides, str):
        words = overrides if overrides.startswith("-") else f"-{overrides}"
        return f"; for a command line use OptionContext.from_args({shown(words)})"
    if isinstance(overrides, (list, tuple)):
        return "; for a command line use OptionContext.from_args"
    if callable(overrides):
        return "; as a decorator it takes its overrides first: @OptionContext({'unroll-count': 4})"
    return ""


def check_lookup(option: RegisteredOption, name: str, asked: object) -> None:
    """Raise OptionTypeError for `get(name, asked)` if `asked` is not a type of the option."""
    types = python_types(option.type)
    if any(asked is each for each in types):
        return
    if not isinstance(asked, type):
        raise OptionTypeError(
            f"cannot look up {name!r} with {shown(asked)}: the second argument of get is a type, here "
            f"{types[0].__name__}; there is no default, because every option has a value"
        )
    raise OptionTypeError(
        f"cannot look up {name!r} as {clipped(asked.__name__)}: the option is of type "
        f"{type_name(option.type.kind)}; use get({name!r}, {types[0].__name__})"
    )


def no_attribute(context: OptionContext, name: str) -> AttributeError:
    """Return the error for an attribute that contexts do not have, with a hint for the name of an option."""
    words = f"{type(context).__name__!r} object has no attribute {shown(name)}"
    engine = attached()
    if name.startswith("_") or engine is None:
        return AttributeError(words)
    dashed = name.replace("_", "-")
    for option in (name, dashed):
        if option in engine.options:
            return AttributeError(f"{words}; look the option up by its name: context[{option!r}]")
    public = [each for each in dir(type(context)) if not each.startswith("_")]
    near = nearest(name, public) or [f"context[{option!r}]" for option in nearest(dashed, engine.options)]
    hint = did_you_mean(near)
    return AttributeError(f"{words}; {hint}" if hint else words)


def given_options(options: object) -> dict[str, object]:
    """Return name -> value for each field that is not None, in nested dataclasses as well.

    Raises OptionTypeError for anything but an instance of a dataclass, and for an option that is given twice.
    """
    if not is_dataclass(options) or isinstance(options, type):
        what = (
            f"the class {options.__name__}; make an instance" if isinstance(options, type) else shown(options)
        )
        raise OptionTypeError(
            f"options are an instance of a dataclass whose fields are options, found {what}"
        )
    found: dict[str, object] = {}
    for name, value in _given(options):
        if name in found:
            raise OptionTypeError(f"cannot set {name!r} twice; leave one of the two fields None")
        found[name] = value
    return found


def _given(options: object) -> Iterator[tuple[str, object]]:
    for each in fields(options):  # type: ignore[arg-type]  # an instance of a dataclass
        value = getattr(options, each.name)
        if is_dataclass(value) and not isinstance(value, type):
            yield from _given(value)
        elif value is not None:
            yield each.metadata.get("option", each.name.replace("_", "-")), value


P = ParamSpec("P")
R = TypeVar("R")

_LATER = 0x20 | 0x80 | 0x200  # of co_flags: a generator, a coroutine, an asynchronous generator
_FIRST = opcode.opmap["RETURN_GENERATOR"]  # after it the body begins
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
    with context:
        result = function(*arguments, **named)
    if isinstance(result, _DEFERRED) and _has_not_begun(result):
        raise OptionTypeError(
            f"cannot run the body of {shown(result)} inside {shown(context)}: {shown(function)} returned it "
            "without running it; use `with` in that body, or return a result that is complete, such as a list"
        )
    return result


def _is_plain(function: Any) -> bool:
    """Tell whether the code of a Python function is certain to run in the call."""
    return not (function.__code__.co_flags & _LATER or function.__dict__)


def _layers(function: Any) -> Iterator[object]:
    """Yield the callable, and each one that a call of it goes on to; the last one has the body."""
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
    # Asynchronous generators on 3.11
    return frame.f_code.co_code[frame.f_lasti] == _FIRST


Decorator = Callable[["OptionContext", Any], Any]

_decorators: list[Decorator] = []  # that of `optctx.numba`


def use_decorator(decorator: Decorator) -> None:
    """Have `@context` pass functions that Numba compiles to `decorator`, and return its result."""
    _decorators.append(decorator)


def decorated(context: OptionContext, function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function with a context, as `@context` does.

    Raises OptionTypeError for what `refuse_deferred` refuses, and for a function that Numba compiles if
    `optctx.numba` refuses it.
    """
    if hasattr(type(function), "__numba__"):  # Numba compiles the functions of such a class
        return cast("Callable[P, R]", _decorators[-1](context, function))
    refuse_deferred(function)

    @wraps(function)
    def inside(*args: P.args, **kwargs: P.kwargs) -> R:
        return call_inside(context, function, args, kwargs)

    return inside
