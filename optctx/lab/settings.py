"""Records whose fields say all of a setting: its flag, help and check.

A command takes its arguments from such a record, in which others are groups of flags. Python takes its
parameters from it, and the site its tables.
"""

from __future__ import annotations

import argparse
import dataclasses
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from optctx.errors import OptctxError, shown

_MOST = (1 << 32) - 1  # the system or NumPy takes no more as seconds, MiB or a seed
R = TypeVar("R")
N = TypeVar("N", int, float)


@dataclasses.dataclass(frozen=True)
class Setting:
    """What the metadata of a field says. `read` makes the value of the text on a command line, and raises
    argparse.ArgumentTypeError; without it the field is a text, or a flag without a value where it is a bool.
    A Number judges values from elsewhere as well.
    """

    help: str
    flag: str = ""
    """The option on the command line, "--name" of the field by default."""
    short: str = ""
    positional: bool = False
    """It stands on the command line without a flag."""
    nargs: str | None = None
    metavar: str | None = None
    read: Callable[[str], Any] | None = None
    choices: tuple[str, ...] | None = None
    several: bool = False
    """The option can be repeated, and the field is a tuple."""
    options: bool = False
    """Its value is options of LLVM or of clang, which begin with a dash."""
    check: Callable[[Any], None] | None = None
    """Raises OptctxError for a value that cannot be used, wherever it comes from."""


def setting(default: Any, help: str, **more: Any) -> Any:
    """A field of a record of settings. `more`: fields of `Setting`."""
    return dataclasses.field(default=default, metadata={"setting": Setting(help, **more)})


def argument(help: str, default: Any = dataclasses.MISSING, **more: Any) -> Any:
    """A field that stands on the command line without a flag. `more`: fields of `Setting`."""
    return setting(default, help, positional=True, **more)


def group(record: type, *leave_out: str, **changed: Mapping[str, Any]) -> Any:
    """A field of a record that is another one: a group of flags.

    `leave_out`: fields without a flag here. `changed`: field -> arguments for argparse that differ here.
    """
    return dataclasses.field(default_factory=record, metadata={"group": Group(record, leave_out, changed)})


@dataclasses.dataclass(frozen=True)
class Group:
    """A record of settings as a part of a command."""

    record: type
    leave_out: tuple[str, ...] = ()
    changed: Mapping[str, Mapping[str, Any]] = dataclasses.field(default_factory=dict)


def settings(record: type) -> dict[str, Setting]:
    """Field -> what it says of itself, in the order of the record; other fields are left out."""
    return {
        field.name: field.metadata["setting"]
        for field in dataclasses.fields(record)
        if "setting" in field.metadata
    }


@dataclasses.dataclass(frozen=True)
class Number(Generic[N]):
    """Reads a number for argparse, and judges one that Python gives. `words`: which numbers fit."""

    kind: type[N]
    words: str
    fits: Callable[[N], bool]

    def __call__(self, text: str) -> N:
        """Read it. Raises argparse.ArgumentTypeError."""
        try:
            found = self.kind(text)
            problem = self._problem(found)
        except ValueError:
            problem = self.words
        if problem:
            raise argparse.ArgumentTypeError(f"expected {problem}, found {text!r}")
        return found

    def check(self, value: Any) -> None:
        """Raise OptctxError for a value that does not fit, or is no number."""
        kind = numbers.Integral if self.kind is int else numbers.Real
        if problem := self._problem(value) if isinstance(value, kind) else self.words:
            raise OptctxError(f"expected {problem}, found {shown(value)}")

    def _problem(self, value: Any) -> str:
        """What would fit instead; "" for a number that fits."""
        if not self.fits(value):
            return self.words
        return f"at most {_MOST:,}" if value > _MOST else ""


positive = Number(int, "a whole number, 1 or more", lambda found: found >= 1)
seconds = Number(float, "seconds above 0, such as 2.5", lambda found: 0 < found < float("inf"))


class _Mebibytes(Number[int]):
    """Reads a whole number of MiB, as bytes. Python gives bytes."""

    def __call__(self, text: str) -> int:
        return super().__call__(text) << 20

    def check(self, value: Any) -> None:
        if not isinstance(value, numbers.Integral) or not 0 < int(value) <= _MOST << 20:
            raise OptctxError(f"expected 1 to {_MOST << 20:,} bytes of memory, found {shown(value)}")


mebibytes = _Mebibytes(int, positive.words, positive.fits)


def add_flags(parser: argparse.ArgumentParser, *records: type) -> None:
    """Add an argument for each setting of the records. The defaults are those of the record.

    A record with a `title`, and one that is a field of another, is a group in the help. The help text of a
    setting may name its default as %(default)s.
    """
    for record in records:
        _add(parser, Group(record))


def _add(parser: argparse.ArgumentParser, part: Group) -> None:
    title = getattr(part.record, "title", None)
    place = parser if title is None else parser.add_argument_group(title)
    for field in dataclasses.fields(part.record):
        if "group" in field.metadata:
            _add(parser, field.metadata["group"])
        elif "setting" in field.metadata and field.name not in part.leave_out:
            _add_argument(place, field, part.changed.get(field.name, {}))


def _add_argument(
    place: argparse._ActionsContainer, field: dataclasses.Field[Any], changed: Mapping[str, Any]
) -> None:
    each: Setting = field.metadata["setting"]
    given: dict[str, Any] = {"help": each.help}
    if field.default is not dataclasses.MISSING:
        given["default"] = field.default
    if field.default is False:
        given["action"] = "store_true"
    else:
        given |= {"metavar": each.metavar, "type": each.read, "choices": each.choices, "nargs": each.nargs}
    if each.several:
        given |= {"action": "append", "default": []}
    names = [field.name]
    if not each.positional:
        names = [*filter(None, [each.short]), each.flag or f"--{field.name.replace('_', '-')}"]
        given["dest"] = field.name
    given = {key: value for key, value in {**given, **changed}.items() if value is not None}
    added = place.add_argument(*names, **given)
    added.options = each.options  # type: ignore[attr-defined]  # for the parser


def taken(arguments: argparse.Namespace, record: type[R]) -> R:
    """The record that the arguments of a command describe. Raises OptctxError for a value that it refuses."""
    given: dict[str, Any] = {}
    for field in dataclasses.fields(record):  # type: ignore[arg-type]
        if "group" in field.metadata:
            given[field.name] = taken(arguments, field.metadata["group"].record)
        elif hasattr(arguments, field.name):
            value = getattr(arguments, field.name)
            given[field.name] = tuple(value) if isinstance(value, list) else value
    return record(**given)


def checked(record: R) -> R:
    """The record itself. Raises OptctxError for a value that its setting refuses."""
    for name, each in settings(type(record)).items():
        value = getattr(record, name)
        if isinstance(each.read, Number) and value is not None:
            each.read.check(value)
        if each.check is not None:
            each.check(value)
    return record


def no_such(what: str, name: str, known: Iterable[str]) -> OptctxError:
    """Says all that there is."""
    return OptctxError(f"there is no {what} {shown(name)}; expected one of {', '.join(known)}")
