"""Checks the arguments of decorators. Errors name the place of the decorator."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NoReturn

from optctx.context import OptionContext
from optctx.errors import OptctxError, OptionTypeError, level_outside, shown
from optctx.numba.target import OptionsTarget, target_of

__all__ = ["Options", "check_arguments", "refuse", "target_for"]

Options = Mapping[str, object] | OptionContext | str | None


def check_arguments(decorator: str, args: tuple[Any, ...], named: dict[str, Any]) -> None:
    """Raise OptionTypeError for options in place of signatures, and for a target other than "cpu"."""
    if args and isinstance(args[0], Mapping):
        refuse(decorator, f"LLVM options are given by name: options={shown(args[0])}")
    for name in ("_target", "target"):
        if named.get(name, "cpu") != "cpu":
            refuse(decorator, f"LLVM options need Numba's target 'cpu', found {name}={shown(named[name])}")
    named.pop("_target", None)


def target_for(decorator: str, options: object) -> OptionsTarget:
    """The target for a decorator's options. Errors begin with the place of the decorator."""
    if not isinstance(options, Mapping):  # an OptionContext is one, too
        refuse(
            decorator,
            "options are a mapping from option name to value, such as {'unroll-count': 4}, or an "
            f'OptionContext, found {shown(options)}; "context" is for njit and jit alone',
        )
    try:
        return target_of(options if isinstance(options, OptionContext) else OptionContext(options))
    except OptctxError as error:
        text, *rest = error.args
        error.args = (f"{_here(decorator)}: {text}", *rest)
        raise error.with_traceback(None) from error.__cause__


def refuse(decorator: str, why: str) -> NoReturn:
    """Raise OptionTypeError with the place of the decorator."""
    raise OptionTypeError(f"{_here(decorator)}: {why}")


def _here(decorator: str) -> str:
    frame = sys._getframe(level_outside() - 1)
    return f"@optctx.numba.{decorator} at {frame.f_code.co_filename}:{frame.f_lineno}"
