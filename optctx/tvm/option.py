"""One element of a target's `cl-opt`: `-name[[:type]=value]`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from optctx.errors import OptionTypeError, TargetError, shown
from optctx.image.abi import type_name
from optctx.image.options import RegisteredOption
from optctx.values.texts import Texts

__all__ = ["ClOption", "OptionType", "parse_option_string", "read_option", "texts_of_option"]

OptionType: TypeAlias = Literal["bool", "int", "uint", "string"]

_FORM = "write -name, -name=BOOL or -name:type=VALUE"
_PARTS = re.compile(
    r"(?P<dashes>-*)(?P<name>[^:=]*)(?P<colon>:(?P<type>[^=]*))?(?P<equals>=(?P<value>.*))?", re.DOTALL
)
_INTEGER = re.compile(r"\s*[+-]?[0-9]+", re.ASCII)
_RANGES = {"int": (-(1 << 31), (1 << 31) - 1), "uint": (0, (1 << 32) - 1)}
_LONGEST = 40  # characters of an integer, leading zeros included
# Type in the notation -> types with which LLVM may have registered the option. TVM casts to the first without
# a check. Here int and uint also stand for each other, because LLVM's parser checks that the value fits.
_MATCHES: Final[dict[OptionType, tuple[str, ...]]] = {
    "bool": ("bool",),
    "int": ("int", "uint"),
    "uint": ("uint", "int"),
    "string": ("string",),
}


@dataclass(frozen=True)
class ClOption:
    """An LLVM option with its type and value. `str(option)` is TVM's notation of it."""

    name: str
    type: OptionType
    value: bool | int | str

    def __str__(self) -> str:
        return f"-{self.name}:{self.type}={self.text}"

    @property
    def text(self) -> str:
        """The value on LLVM's command line."""
        return str(self.value).lower() if isinstance(self.value, bool) else str(self.value)


def parse_option_string(text: str) -> ClOption:
    """Read `-name[[:type]=value]`. The type is bool, int, uint or string; without one it is bool.

    Raises TargetError for another form, and for a value that is not of the type. Does not ask LLVM.
    """
    if not isinstance(text, str):
        raise TargetError(f"an option is a string, found {shown(text)}")
    try:
        return read_option(text)
    except TargetError as error:
        raise TargetError(f"cannot read the option {shown(text)}: {error}") from None


def read_option(text: str) -> ClOption:
    """As `parse_option_string`, but the message of an error does not name the option."""
    parts = _PARTS.fullmatch(text)
    assert parts is not None  # every part may be empty
    if parts["dashes"] not in ("-", "--"):
        raise TargetError(f"expected '-' or '--' in front, found {shown(parts['dashes'])}; {_FORM}")
    if not parts["name"]:
        raise TargetError(f"expected a name after {parts['dashes']!r}; {_FORM}")
    typed = parts["colon"] is not None
    kind = parts["type"] if typed else "bool"
    if kind not in _MATCHES:
        raise TargetError(f"expected bool, int, uint or string after ':', found {shown(kind)}")
    if typed and not parts["equals"]:
        raise TargetError(f"expected '=' and a value after the type; {_FORM}")
    value = "true" if parts["value"] is None else parts["value"]
    if kind == "bool":
        return ClOption(parts["name"], "bool", _boolean(value, typed))
    if kind == "string":
        return ClOption(parts["name"], "string", value)
    return ClOption(parts["name"], cast("OptionType", kind), _integer(kind, value))


def texts_of_option(option: ClOption, registered: RegisteredOption) -> Texts:
    """The text for LLVM's parser. Raises OptionTypeError if LLVM registered the option as another type."""
    found = type_name(registered.type.kind)
    if found in _MATCHES[option.type]:
        return (option.text,)
    instead = (
        f"write -{option.name}:{found}=VALUE"
        if found in _MATCHES
        else f"TVM's notation has no such type; set it in base=OptionContext({{{option.name!r}: ...}})"
    )
    raise OptionTypeError(
        f"LLVM registered {option.name!r} as {found}, the target says {option.type}; {instead}"
    )


def _boolean(value: str, typed: bool) -> bool:
    word = value.lower()
    if word in ("true", "false"):
        return word == "true"
    if len(value) <= _LONGEST and _INTEGER.fullmatch(value) and int(value) in (0, 1):
        return int(value) == 1
    hint = "" if typed else "; without a type an option is a bool, others are -name:type=VALUE"
    raise TargetError(f"expected true, false, 1 or 0 after '=', found {shown(value)}{hint}")


def _integer(kind: str, value: str) -> int:
    low, high = _RANGES[kind]
    if not _INTEGER.fullmatch(value):
        raise TargetError(f"expected an integer after '=', found {shown(value)}")
    if len(value) > _LONGEST or not low <= int(value) <= high:
        raise TargetError(f"expected {low:,} to {high:,} for type {kind}, found {shown(value)}")
    return int(value)
