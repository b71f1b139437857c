"""An option as plain data, for JSON and for `optctx show`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optctx.values import Option

__all__ = ["option_data"]

_FIELDS = (
    "name",
    "type",
    "default",
    "value",
    "help",
    "choices",
    "alias_of",
    "aliases",
    "categories",
    "hidden",
    "storage",
    "scope",
    "reason",
    "trust",
    "trusted_values",
    "trust_reason",
    "read_by",
)


def option_data(option: Option) -> dict[str, Any]:
    """The option's fields by name, in JSON's types."""
    return {name: _plain(getattr(option, name)) for name in _FIELDS}


def _plain(value: object) -> object:
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(str(item) for item in value)
    return str(value)
