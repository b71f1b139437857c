"""Records whose fields say all of a setting: its flag, help and check.

A command takes its arguments from such a record, in which others are groups of flags. Python takes its
parameters from it, and the site its tables.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from optctx.errors import OptctxError, shown

_MOST = (1 << 32) - 1  # the system takes no more as seconds
R = TypeVar("R")
N = TypeVar("N", int, float)


def setting(
    default: Any,
    help: str,
    *,
    flags: str = "",
    read: Callable[[Any], Any] | None = None,
    **more: Any,
) -> Any:
    """A field of a record of settings. `help` may name the default as %(default)s.

    An option whose default is a tuple can be repeated; one whose default is False is a flag without a value.

    Args:
        flags: The option on the command line, "--name" of the field by default, or "-n --name".
        read: Makes the value of the text on a command line, and judges one that Python gives (`checked`). It
            raises UnfitError. Without it the field is a text.
        more: For argparse: `metavar`, `choices`, `nargs`, `required`.
    """
    given: dict[str, Any] = {"help": help, "default": default, **more}
    if read is not None:
        given["type"] = read
    if default is False:
        given["action"] = "store_true"
    if default == ():
        given |= {"action": "append", "default": []}
    return dataclasses.field(default=default, metadata={"given": given, "flags": flags.split()})


def argument(help: str, **more: Any) -> Any:
    """A field that stands on the command line without a flag. `more`: for argparse."""
    default = more.get("default", dataclasses.MISSING)
    return dataclasses.field(default=default, metadata={"given": {"help": help, **more}})


def group(record: type, *leave_out: str) -> Any:
    """A field of a record that is another one: a group of flags. `leave_out`: fields without a flag here."""
    return dataclasses.field(default_factory=record, metadata={"group": (record, leave_out)})


class UnfitError(OptctxError, argparse.ArgumentTypeError):
    """A value is not one that a setting takes: argparse names the flag before the message."""


def _number(kind: type[N], value: Any, words: str) -> N:
    with contextlib.suppress(TypeError, ValueError, OverflowError):
        found = kind(value)
        if 0 < found <= _MOST and (isinstance(value, str) or found == value):
            return found
    raise UnfitError(f"expected {words}, found {shown(value)}")


def positive(value: Any) -> int:
    """Read a whole number above 0, from a command line or from Python. Raises UnfitError."""
    return _number(int, value, "a whole number, 1 or more")


def seconds(value: Any) -> float:
    """Read seconds above 0, from a command line or from Python. Raises UnfitError."""
    return _number(float, value, "seconds above 0, such as 2.5")


def add_flags(parser: argparse.ArgumentParser, record: type, leave_out: Collection[str] = ()) -> None:
    """Add an argument for each setting of a record. One with a `title` is a group in the help."""
    title = getattr(record, "title", None)
    place = parser if title is None else parser.add_argument_group(title)
    for field in dataclasses.fields(record):
        about = field.metadata
        if "group" in about:
            add_flags(parser, *about["group"])
        elif about and field.name not in leave_out:
            names, given = [field.name], about["given"]
            if "flags" in about:
                names = about["flags"] or [f"--{field.name.replace('_', '-')}"]
                given = {"dest": field.name, **given}
            place.add_argument(*names, **given)


def taken(arguments: argparse.Namespace, record: type[R]) -> R:
    """The record that the arguments of a command describe. Raises OptctxError for a value that it refuses."""
    given: dict[str, Any] = {}
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        if "group" in field.metadata:
            given[field.name] = taken(arguments, field.metadata["group"][0])
        elif hasattr(arguments, field.name):
            value = getattr(arguments, field.name)
            given[field.name] = tuple(value) if isinstance(value, list) else value
    return record(**given)


def checked(record: object) -> None:
    """Raise OptctxError for a value that its setting refuses."""
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        read, value = field.metadata.get("given", {}).get("type"), getattr(record, field.name)
        if read is not None and value is not None:
            read(value)
