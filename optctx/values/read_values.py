"""Reads the value of an option from storage as a Python value of the option's own type."""

from __future__ import annotations

from typing import cast

from optctx._native import Kind, read_bytes, read_list, read_scalar
from optctx.image.abi import FLOATS, INTEGERS, OptionType, element_size
from optctx.image.memory import WORD
from optctx.image.options import RegisteredOption

Scalar = bool | int | float | str | None
Value = Scalar | list[Scalar]

_BOOL_OR_DEFAULT = {0: None, 1: True, 2: False}  # cl::BOU_UNSET, BOU_TRUE, BOU_FALSE


def read_value(option: RegisteredOption, storage: int) -> Value:
    """Read the value at `storage`, which is inside the Option or where cl::location points.

    A boolOrDefault that is unset gives None. An enum gives the name of the choice, or None if no choice
    stores that number. Bits give the names that are set. A type without a readable form gives None.
    A text that is not UTF-8, such as the name of a file, has surrogates, as from `os.fsdecode`.
    """
    kind = option.type.kind
    if not option.type.readable:
        return None
    if kind == Kind.list:
        return _read_list(option, storage)
    if kind == Kind.bits:
        mask = read_scalar(Kind.bits, storage)
        names, stored, _ = option.stored_choices()
        return [name for name, bit in zip(names, stored, strict=True) if int(mask) >> bit & 1]
    if kind == Kind.enumeration:
        size = option.stored_choices()[2]
        return _names(option).get(int.from_bytes(read_bytes(storage, size), "little"))
    return _plain(kind, read_scalar(kind, storage))


def read_default(option: RegisteredOption) -> Value:
    """Read the `cl::init` value from the OptionValue that follows the value in the Option itself."""
    kind = option.type.kind
    if not option.type.readable or kind in (Kind.list, Kind.bits) or option.alias_of:
        return None
    # {value or pointer to it, OptionValue<T>{vtable, T value, bool valid}}
    is_long = kind in (Kind.long_string, Kind.libcxx_string)
    held = _size(option) if is_long and not option.type.external else WORD
    at = option.address + option.value_offset + held + WORD
    valid_at = WORD if option.type.registry_parser else _size(option)
    if read_bytes(at + valid_at, 1) == b"\0":
        return _empty(option)
    return read_value(option, at)


def _plain(kind: Kind, value: Scalar) -> Scalar:
    if kind == Kind.bool_or_default:
        return _BOOL_OR_DEFAULT.get(int(value or 0))
    return value


def _read_list(option: RegisteredOption, storage: int) -> Value:
    element = option.type.element
    values = read_list(element, element_size(element), storage)
    if element != Kind.enumeration:
        return [_plain(element, value) for value in values]
    named = _names(option)
    return [named.get(int(value)) for value in values]


def _names(option: RegisteredOption) -> dict[int, str]:
    """Map each number that a choice of the option stores to the first of these choices."""
    names, stored, _ = option.stored_choices()
    return dict(zip(reversed(stored), reversed(names), strict=True))


def _size(option: RegisteredOption) -> int:
    kind = option.type.kind
    return option.stored_choices()[2] if kind == Kind.enumeration else element_size(kind) or 4


def _empty(option: RegisteredOption) -> Value:
    """Return the value of an option without `cl::init`: T()."""
    kind = option.type.kind
    if kind == Kind.enumeration:
        return _names(option).get(0)
    if kind == Kind.bool_or_default:
        return None
    return "\0" if kind == Kind.character else cast("Scalar", python_types(option.type)[0]())


def python_types(option_type: OptionType) -> tuple[type, ...]:
    """Return the Python types that a lookup of an option of this type may ask for."""
    kind = option_type.kind
    if kind in (Kind.boolean, Kind.bool_or_default):
        return (bool,)
    if kind in INTEGERS:
        return (int,)
    if kind in FLOATS:
        return (float,)
    if kind in (Kind.list, Kind.bits):
        return (list,)
    return (str,)


def value_text(value: Value) -> str:
    """Write a value as on a command line; "unset" for None."""
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(map(value_text, value)) or "none"
    return str(value) if value != "" else '""'
