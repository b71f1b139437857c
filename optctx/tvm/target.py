"""`Target`: a description of what to compile for, as TVM writes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, Union

from optctx.errors import TargetError, shown
from optctx.plain_data import DataError, parse_json
from optctx.tvm.notation import read_pairs
from optctx.tvm.schema import check_key, check_text, checked, from_text

__all__ = ["Target", "TargetLike", "read_target"]

TargetLike: TypeAlias = Union[str, Mapping[str, Any], "Target"]

_DEFAULT_KEYS = ("cpu",)


@dataclass(frozen=True, init=False, repr=False)
class Target:
    """A target of kind "llvm", read and checked; immutable.

    `attrs` holds the values of its keys, lists as tuples. `str(target)` is its JSON form, which gives an
    equal target.

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
        attrs, own_host = read_target(target)
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
        return hash(str(self))


def read_target(target: object) -> tuple[dict[str, Any], Target | None]:
    """(values by key, host) of a target in any form. Raises a TargetError that shows the whole target."""
    if isinstance(target, Target):
        return dict(target.attrs), target.host
    try:
        return _read(target)
    except TargetError as error:
        raise TargetError(f"cannot read the target {shown(target)}: {error}") from None


def _read(target: object) -> tuple[dict[str, Any], Target | None]:
    if isinstance(target, str):
        check_text(target)
    if isinstance(target, str) and not target.lstrip().startswith("{"):
        kind, pairs = read_pairs(target)
        _check_kind(kind)
        host = pairs.pop("host", None)
        attrs = {}
        for key, text in pairs.items():
            check_key(key)
            attrs[key] = from_text(key, text)
        return attrs, None if host is None else _host(from_text("tag", host))
    config = dict(_config(target))
    _check_kind(config.pop("kind", None), "tag" in config)
    inner = config.pop("host", None)
    attrs = {}
    for key, value in config.items():
        check_key(key)
        attrs[key] = checked(key, value)
    return attrs, None if inner is None else _host(inner)


def _config(target: object) -> Mapping[str, Any]:
    if isinstance(target, str):
        try:
            target = parse_json(target)
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
