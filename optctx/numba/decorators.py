"""`njit` and `jit` with LLVM options, and contexts as decorators of functions that Numba compiles."""

from __future__ import annotations

import inspect
from typing import Any

import numba
from numba.core.registry import CPUDispatcher

from optctx.context import OptionContext
from optctx.errors import OptionTypeError, shown
from optctx.numba.dispatcher import OptionsDispatcher
from optctx.numba.following import FOLLOWING, FollowingDispatcher, Mode
from optctx.numba.place import Options, check_arguments, refuse, target_for
from optctx.numba.target import target_of

__all__ = ["apply_context", "jit", "njit"]


def njit(*args: Any, options: Options = None, **named: Any) -> Any:
    """Decorate a function as `numba.njit` does, and compile it under LLVM options.

    The function is compiled under these options wherever it is first called, and so are the functions that it
    calls, NumPy's included. Helpers that plain Numba decorated are compiled again for this. A helper that has
    options of its own keeps them.

    Args:
        args, named: As for `numba.njit`. With `cache=True` the key of a file has the options that the
            compilation read.
        options: Option name -> value, or an OptionContext. All other options have the values in force where
            the decorator runs. "context": the function is compiled for each context that it is called in.
            None: it is compiled for the context of the first call. A call in another context runs the same
            code, with a NumbaOptionsWarning.

    Raises:
        UnknownOptionError, OptionTypeError, OptionValueError, ProcessWideOptionError: The message begins with
            the place of the decorator. Nothing was changed.
        UnsupportedImageError: LLVM's code cannot be redirected in this process (`optctx.info()`).
    """
    return _decorated("njit", options, args, named)


def jit(*args: Any, options: Options = None, **named: Any) -> Any:
    """The same as `njit`, for `numba.jit`. Object mode (`forceobj=True`) is refused."""
    return _decorated("jit", options, args, named)


def _decorated(decorator: str, options: Options, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    check_arguments(decorator, args, named)
    if named.get("forceobj"):
        refuse(
            decorator,
            "object mode has no LLVM options: Numba compiles its loops when they run; leave out forceobj",
        )
    if options is None or options == "context":
        following = getattr(numba, decorator)(*args, _target=FOLLOWING, **named)
        return _finished(following, "each" if options else "first")
    target = target_for(decorator, options)
    return _finished(getattr(numba, decorator)(*args, _target=target.name, **named), "first")


def _finished(made: Any, mode: Mode) -> Any:
    """Finish a dispatcher, or a decorator that makes one. A plain function (JIT disabled) stays as it is."""
    if isinstance(made, OptionsDispatcher):
        return made.publish()
    if isinstance(made, FollowingDispatcher):
        return made.follow(mode)
    if inspect.isfunction(made) and made.__module__.startswith("numba."):
        return lambda function: _finished(made(function), mode)
    return made


def apply_context(context: OptionContext, function: Any) -> Any:
    """Apply `@context` to a function that Numba compiles."""
    if isinstance(function, FollowingDispatcher):
        return function.under(context)
    if isinstance(function, OptionsDispatcher):
        raise OptionTypeError(
            f"cannot put {shown(function)} inside {shown(context)}: it has LLVM options of its own; put the "
            "context above numba.njit, or give its options to optctx.numba.njit"
        )
    if type(function) is CPUDispatcher:
        return target_of(context).dispatcher_class.like(function).publish()
    raise OptionTypeError(
        f"cannot put {shown(function)} inside {shown(context)}: a context compiles functions of numba.njit "
        "and numba.jit, and this is of another kind; use its decorator in optctx.numba with options=..."
    )
