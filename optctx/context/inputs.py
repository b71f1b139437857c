"""What a caller may pass where a context is made or looked into, and what is said of anything else.

Functions among it. A scope around a call would not reach a body that runs after the call has returned: a
coroutine or generator function is refused before it is called. One that Numba compiles is compiled under the
context, because a scope reaches at most its first compilation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from optctx.engine.engine import Engine
from optctx.errors import OptionTypeError, clipped, shown
from optctx.image.abi import type_name
from optctx.image.options import RegisteredOption
from optctx.values.read_values import python_types
from optctx.values.texts import plain

if TYPE_CHECKING:
    from optctx.context.context import OptionContext


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
        name = keyword if keyword in engine.options else keyword.replace("_", "-")
        values.pop(name, None)  # the last one counts, also among several names of one option
        values[name] = value
    return values


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


P = ParamSpec("P")
R = TypeVar("R")

_LATER = 0x20 | 0x80 | 0x200  # of co_flags: a generator, a coroutine, an asynchronous generator


def refuse_deferred(function: object) -> None:
    """Raise OptionTypeError for coroutine and generator functions, and for anything that is not callable."""
    if not callable(function):
        raise OptionTypeError(
            f"expected a function or another callable, found {shown(function)} of type "
            f"{type(function).__name__}"
        )
    called = function.func if isinstance(function, partial) else function
    code = getattr(called, "__code__", None)  # methods have that of their function
    if getattr(code, "co_flags", 0) & _LATER:
        raise OptionTypeError(
            f"cannot put {shown(function)} inside a context: its body runs after the call has returned; "
            "use `with` in it"
        )


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
        with context:
            return function(*args, **kwargs)

    return inside
