"""`Target`: a description of what to compile for, as TVM writes it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, Union

from optctx.errors import TargetError, shown
from optctx.plain_data import DataError, check_plain, parse_json
from optctx.tvm.notation import items, read_pairs, without_quotes
from optctx.wording import did_you_mean, nearest

TargetLike: TypeAlias = Union[str, Mapping[str, Any], "Target"]

_DEFAULT_KEYS = ("cpu",)
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


@dataclass(frozen=True, init=False, repr=False)
class Target:
    """A target of kind "llvm", read and checked; immutable.

    `attrs` holds the values of its keys, lists as tuples. `str(target)` is its JSON form, which gives an
    equal target. Targets are equal if their values are, in any order. They can be hashed and pickled.

    Args:
        target: One line such as `"llvm -mcpu=skylake -cl-opt=-unroll-count:uint=4"`, the JSON form as text or
            as a mapping, or another Target.
        host: The target of the code that calls the compiled code, or None for the one in `target`.

    Raises:
        TargetError: The target cannot be read, has a key that targets of kind "llvm" do not have, or a value
            of another type. Kinds other than "llvm", and TVM's tags, are refused.
    """

    attrs: Mapping[str, Any]
    host: Target | None

    def __init__(self, target: TargetLike, host: TargetLike | None = None) -> None:
        attrs, own_host = _read_target(target)
        object.__setattr__(self, "attrs", MappingProxyType(attrs))
        object.__setattr__(self, "host", own_host if host is None else Target(host))

    @property
    def kind(self) -> str:
        """Always "llvm"."""
        return "llvm"

    @property
    def keys(self) -> tuple[str, ...]:
        """The names under which TVM looks up schedules: those given, or "cpu", and the device."""
        given = self.attrs.get("keys")
        device = [self.attrs["device"]] if "device" in self.attrs else []
        return tuple(dict.fromkeys([*(given or ()), *device, *(() if given else _DEFAULT_KEYS)]))

    def with_host(self, host: TargetLike) -> Target:
        """Make a copy with another host. Raises as the constructor does."""
        return Target(self, host)

    def export(self) -> dict[str, Any]:
        """Return the JSON form as a dict."""
        plain = {key: list(each) if isinstance(each, tuple) else each for key, each in self.attrs.items()}
        host = {} if self.host is None else {"host": self.host.export()}
        return {"kind": self.kind, **plain, **host}

    def __str__(self) -> str:
        return json.dumps(self.export())

    def __repr__(self) -> str:
        return f"Target({str(self)!r})"

    def __hash__(self) -> int:
        return hash((frozenset(self.attrs.items()), self.host))  # the order of the keys makes no difference

    def __reduce__(self) -> tuple[Any, ...]:
        return Target, (self.export(),)


def _read_target(target: object) -> tuple[dict[str, Any], Target | None]:
    """(values by key, host) of a target in any form. Raises a TargetError that shows the whole target."""
    if isinstance(target, Target):
        return dict(target.attrs), target.host
    try:
        return _read(target)
    except TargetError as error:
        raise TargetError(f"cannot read the target {shown(target)}: {error}") from None


def _read(target: object) -> tuple[dict[str, Any], Target | None]:
    if isinstance(target, str):
        _check_text(target)
    if isinstance(target, str) and not target.lstrip().startswith("{"):
        kind, pairs = read_pairs(target)
        _check_kind(kind)
        host = pairs.pop("host", None)
        attrs = {}
        for key, text in pairs.items():
            _check_key(key)
            attrs[key] = _from_text(key, text)
        return attrs, None if host is None else _host(_from_text("tag", host))
    config = dict(_config(target))
    _check_kind(config.pop("kind", None), "tag" in config)
    inner = config.pop("host", None)
    attrs = {}
    for key, value in config.items():
        _check_key(key)
        attrs[key] = _checked(key, value)
    return attrs, None if inner is None else _host(inner)


def _config(target: object) -> Mapping[str, Any]:
    try:
        if isinstance(target, str):
            target = parse_json(target)
        elif isinstance(target, Mapping):
            check_plain({**target})
    except DataError as error:
        raise TargetError(str(error)) from None
    if not isinstance(target, Mapping):
        raise TargetError(f"expected a string, a mapping or a Target, found {type(target).__name__}")
    for key in target:
        if not isinstance(key, str):
            raise TargetError(f"expected strings as keys, found {shown(key)}")
    return target


def _check_kind(kind: object, tagged: bool = False) -> None:
    if kind is None:
        hint = "; the tag alone is TVM's to look up" if tagged else ""
        raise TargetError(f'it has no kind; write "kind": "llvm"{hint}')
    if kind != "llvm":
        raise TargetError(f'expected the kind "llvm", found {shown(kind)}; other kinds, and tags, are TVM\'s')


def _host(given: Any) -> Target:
    try:
        return Target(given)
    except TargetError as error:
        raise TargetError(f"host: {error}") from None


def _check_key(key: str) -> None:
    """Raise TargetError for a key that a target of kind "llvm" does not have."""
    if key in _REFUSED:
        raise TargetError(f"cannot use the key {key!r} here: {_REFUSED[key]}")
    if key not in _TYPES and not key.startswith(_DERIVED):
        hint = did_you_mean(map(repr, nearest(key, _TYPES))) or f"the keys are {', '.join(sorted(_TYPES))}"
        raise TargetError(f'a target of kind "llvm" has no key {shown(key)}; {hint}')


def _from_text(key: str, text: str) -> object:
    """Read the value of a key in the one-line notation. Raises TargetError for a text of another type."""
    return _READERS[_TYPES.get(key, bool)](key, text)


def _checked(key: str, value: object) -> object:
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
        _check_text(value)
    return value


def _check_text(text: str) -> None:
    """Raise TargetError for a text that cannot be a C string in UTF-8."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise TargetError(f"{shown(text)} has a NUL or a surrogate; take these characters out")


def _checked_list(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)):
        raise TargetError(f"{key}: expected {_WORDS[list]}, found {shown(value)}")
    for place, each in enumerate(value):
        if not isinstance(each, str):
            raise TargetError(f"{key}[{place}]: expected a string, found {shown(each)}")
        _check_text(each)
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
