"""The keys of a target of kind "llvm", and the types of their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from optctx.errors import TargetError, shown
from optctx.tvm.notation import items, without_quotes
from optctx.wording import did_you_mean, nearest

__all__ = ["FAST_MATH", "check_key", "check_text", "checked", "from_text"]

# Key -> the fast-math flag of LLVM that it turns on.
FAST_MATH = {
    f"fast-math-{flag}": flag for flag in ("reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")
}

_TYPES: Mapping[str, type[Any]] = {
    **dict.fromkeys(("keys", "libs", "mattr", "cl-opt"), list),
    **dict.fromkeys(("tag", "device", "model", "mcpu", "mtriple", "mfloat-abi", "mabi", "jit"), str),
    **dict.fromkeys(("num-cores", "opt-level", "vector-width", "target_device_type"), int),
    **dict.fromkeys(("fast-math", *FAST_MATH), bool),
}
_REFUSED = {
    "from_device": "it asks a device of TVM's for values; write the values themselves",
    "features": "TVM derives features from the other keys; leave it out",
}
_DERIVED = "feature."  # prefix of the keys that TVM derives from the others and also writes
_WORDS = {list: "a list of strings", str: "a string", int: "an int", bool: "true or false"}
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def check_key(key: str) -> None:
    """Raise TargetError for a key that a target of kind "llvm" does not have."""
    if key in _REFUSED:
        raise TargetError(f"cannot use the key {key!r} here: {_REFUSED[key]}")
    if key not in _TYPES and not key.startswith(_DERIVED):
        hint = did_you_mean(map(repr, nearest(key, _TYPES))) or f"the keys are {', '.join(sorted(_TYPES))}"
        raise TargetError(f'a target of kind "llvm" has no key {shown(key)}; {hint}')


def from_text(key: str, text: str) -> object:
    """Read the value of a key in the one-line notation. Raises TargetError for a text of another type."""
    return _READERS[_TYPES.get(key, bool)](key, text)


def checked(key: str, value: object) -> object:
    """Check the value of a key from JSON, and return it. Raises TargetError for another type.

    As in TVM, 0 and 1 are accepted for false and true, and vice versa.
    """
    expected = _TYPES.get(key, bool)
    if expected is list:
        return _checked_list(key, value)
    if expected is bool and isinstance(value, int) and value in (0, 1):
        return bool(value)
    if expected is int and isinstance(value, int):
        return int(value)
    if not isinstance(value, expected):
        raise TargetError(f"{key}: expected {_WORDS[expected]}, found {shown(value)}")
    if isinstance(value, str):
        check_text(value)
    return value


def check_text(text: str) -> None:
    """Raise TargetError for a text that cannot be a C string in UTF-8."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise TargetError(f"{shown(text)} has a NUL or a surrogate; take these characters out")


def _checked_list(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TargetError(f"{key}: expected {_WORDS[list]}, found {shown(value)}")
    for place, each in enumerate(value):
        if not isinstance(each, str):
            raise TargetError(f"{key}[{place}]: expected a string, found {shown(each)}")
        check_text(each)
    return tuple(value)


def _read_integer(key: str, text: str) -> int:
    word = without_quotes(text).lower()
    if word in ("true", "false"):  # as TVM does
        return int(word == "true")
    if not _INTEGER.fullmatch(word):
        raise TargetError(f"{key}: expected an integer, found {shown(text)}")
    return int(word)


def _read_flag(key: str, text: str) -> bool:
    word = without_quotes(text).lower()
    if word not in ("0", "1", "true", "false"):
        raise TargetError(f"{key}: expected {_WORDS[bool]}, found {shown(text)}")
    return word in ("1", "true")


_READERS: Mapping[type[Any], Callable[[str, str], object]] = {
    list: lambda key, text: tuple(items(text)),
    str: lambda key, text: without_quotes(text),
    int: _read_integer,
    bool: _read_flag,
}
