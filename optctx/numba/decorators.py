"""`njit` and `jit` with LLVM options, and contexts as decorators of functions that Numba compiles.

Errors name the place of the decorator.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from optctx.numba import required  # noqa: F401  # refuses a Numba with which what follows cannot work

# isort: split

import numba
from numba.core.registry import CPUDispatcher

from optctx.context.context import OptionContext
from optctx.context.lookups import current, seen
from optctx.engine.attach import attach
from optctx.errors import OptctxError, OptionTypeError, level_outside, shown
from optctx.numba import ufuncs  # noqa: F401  # what stands for universal functions
from optctx.numba.dispatcher import OptionsDispatcher
from optctx.numba.target import OptionsTarget, target_of
from optctx.travelling.attaching import compiles_outside

Options = Mapping[str, object] | OptionContext | None

# The way for what has no options: Numba compiles in the scope around its decorator.
_AROUND = "inside `with OptionContext(...):`, use numba."

# As Numba has them: a program may put those of this module in their place.
_NUMBAS = {"njit": numba.njit, "jit": numba.jit}


def _check_arguments(decorator: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raise OptionTypeError for options in place of signatures, and for a target other than "cpu"."""
    if args and isinstance(args[0], Mapping):
        _refuse(decorator, f"LLVM options are given by name: options={shown(args[0])}")
    for name in ("_target", "target"):
        if named.get(name, "cpu") != "cpu":
            _refuse(
                decorator,
                f"LLVM options need Numba's target 'cpu', found {name}={shown(named[name])}; {_AROUND}"
                f"{decorator} with signatures",
            )
    named.pop("_target", None)


def _target_for(decorator: str, options: object) -> OptionsTarget:
    """The target for a decorator's options. Errors begin with the place of the decorator."""
    if options is not None and not isinstance(options, Mapping):  # an OptionContext is one, too
        _refuse(
            decorator,
            "options are a mapping from option name to value, such as {'unroll-count': 4}, or an "
            f"OptionContext, found {shown(options)}",
        )
    try:
        if options is None:
            return target_of(_context_here(decorator))
        return target_of(options if isinstance(options, OptionContext) else OptionContext(options))
    except OptctxError as error:
        text, *rest = error.args
        error.args = (f"{_here(decorator)}: {text}", *rest)
        raise error.with_traceback(None) from error.__cause__


def _context_here(decorator: str) -> OptionContext:
    """The context of this task. Outside all, raises or warns as `attach(outside=...)` says."""
    engine = attach()
    if seen(engine, f"decorate with optctx.numba.{decorator}") is None:
        compiles_outside(engine)  # LLVM will work in a scope of the target's
    return current()


def _refuse(decorator: str, why: str) -> NoReturn:
    """Raise OptionTypeError with the place of the decorator."""
    raise OptionTypeError(f"{_here(decorator)}: {why}")


def _here(decorator: str) -> str:
    frame = sys._getframe(level_outside() - 1)
    return f"@optctx.numba.{decorator} at {frame.f_code.co_filename}:{frame.f_lineno}"


def njit(*args: Any, options: Options = None, **named: Any) -> Any:
    """Decorate a function as `numba.njit` does, and compile it under LLVM options.

    The function is compiled under these options wherever it is first called, and so are the functions that it
    calls, NumPy's included. Helpers that plain Numba decorated are compiled again for this. A helper that has
    options of its own keeps them.

    Args:
        args, named: As for `numba.njit`. With `cache=True` the key of a file has the options that the
            compilation read.
        options: Option name -> value, or an OptionContext. All other options have the values in force where
            the decorator runs, such as those of a scope around it.

    Raises:
        UnknownOptionError, OptionTypeError, OptionValueError, ProcessWideOptionError: The message begins with
            the place of the decorator. Nothing was changed.
        OutsideScopeError: No options, and outside every scope under `attach(outside="error")`.
        UnsupportedImageError: LLVM's code cannot be redirected in this process (`optctx.info()`).
    """
    return _decorated("njit", options, args, named)


def jit(*args: Any, options: Options = None, **named: Any) -> Any:
    """The same as `njit`, for `numba.jit`. Object mode (`forceobj=True`) is refused."""
    return _decorated("jit", options, args, named)


def _decorated(decorator: str, options: Options, args: tuple[Any, ...], named: dict[str, Any]) -> Any:
    _check_arguments(decorator, args, named)
    if named.get("forceobj"):
        _refuse(
            decorator,
            "object mode has no LLVM options: Numba compiles its loops when they run; leave out forceobj",
        )
    target = _target_for(decorator, options)
    return _finished(_NUMBAS[decorator](*args, _target=target.name, **named))


def _finished(made: Any) -> Any:
    """Finish a dispatcher, or a decorator that makes one. A plain function (JIT disabled) stays as it is."""
    if isinstance(made, OptionsDispatcher):
        return made.publish()
    if inspect.isfunction(made) and made.__module__.startswith("numba."):
        return lambda function: _finished(made(function))
    return made


def apply_context(context: OptionContext, function: Any) -> Any:
    """Apply `@context` to a function that Numba compiles."""
    if isinstance(function, OptionsDispatcher):
        raise OptionTypeError(
            f"cannot put {shown(function)} inside {shown(context)}: it has LLVM options of its own; put the "
            "context above numba.njit, or give its options to optctx.numba.njit"
        )
    if type(function) is CPUDispatcher:
        return target_of(context).dispatcher_class.like(function).publish()
    raise OptionTypeError(
        f"cannot put {shown(function)} inside {shown(context)}: a context compiles functions of numba.njit "
        "and numba.jit, and this is of another kind; decorate it inside `with OptionContext(...):`"
    )
