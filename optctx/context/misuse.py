"""Errors for misused contexts: entering the class, options as attributes, lookups with a default, ..."""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Mapping
from typing import TYPE_CHECKING, NoReturn

from optctx.engine.attach import attached
from optctx.engine.plan import PlannedOption
from optctx.errors import OptionTypeError, clipped, shown
from optctx.image.typenames import type_name
from optctx.registry.values import python_types
from optctx.wording import did_you_mean, nearest

if TYPE_CHECKING:
    from optctx.context.context import OptionContext

__all__ = ["ContextType", "checked_mapping", "no_attribute", "wrong_lookup"]


class ContextType(ABCMeta):
    """The metaclass of OptionContext: `with OptionContext:` raises an error that says what to write."""

    if not TYPE_CHECKING:  # where `with OptionContext:` stays an error

        def __enter__(cls) -> NoReturn:
            raise OptionTypeError(
                f"cannot enter the class {cls.__name__}: expected a context; make one: "
                f'with {cls.__name__}({{"unroll-count": 4}}):'
            )

        def __exit__(cls, *error: object) -> None:
            """Never called. `with` requires it before it calls `__enter__`."""


def checked_mapping(overrides: object) -> Mapping[str, object]:
    """Return the overrides unchanged. Raises OptionTypeError for anything but a mapping."""
    if isinstance(overrides, Mapping):
        return overrides
    raise OptionTypeError(
        "overrides are a mapping from option name to value, such as {'unroll-count': 4}, found "
        f"{shown(overrides)} of type {type(overrides).__name__}{_instead(overrides)}"
    )


def _instead(overrides: object) -> str:
    if isinstance(overrides, str):
        words = overrides if overrides.startswith("-") else f"-{overrides}"
        return f"; for a command line use OptionContext.from_args({shown(words)})"
    if isinstance(overrides, (list, tuple)):
        return "; for a command line use OptionContext.from_args"
    if callable(overrides):
        return "; as a decorator it takes its overrides first: @OptionContext({'unroll-count': 4})"
    return ""


def wrong_lookup(option: PlannedOption, name: str, asked: object) -> OptionTypeError:
    """The error for `get(name, asked)` if `asked` is not a type of the option."""
    own, python = type_name(option.record.type.kind), python_types(option.record.type)[0].__name__
    if not isinstance(asked, type):
        return OptionTypeError(
            f"cannot look up {name!r} with {shown(asked)}: the second argument of get is a type, here "
            f"{python}; there is no default, because every option has a value"
        )
    return OptionTypeError(
        f"cannot look up {name!r} as {clipped(asked.__name__)}: the option is of type {own}; "
        f"use get({name!r}, {python})"
    )


def no_attribute(context: OptionContext, name: str) -> AttributeError:
    """The error for an attribute that contexts do not have, with a hint for the name of an option."""
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
