"""Hands every option's name, type and place to the native side, for C++ code."""

from __future__ import annotations

from collections.abc import Mapping

from optctx._native import NO_SLOT, Kind, Space, publish_lookups
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption


def publish(
    space: Space, image: Image, options: Mapping[int, RegisteredOption], aliases: Mapping[int, list[str]]
) -> None:
    """Let C++ code find the options."""
    rows = [
        _row(option, [*option.names, *aliases.get(option.address, ())])
        for option in options.values()
        if not option.alias_of
    ]
    publish_lookups(space, image, rows)


def resolve(option: RegisteredOption, by_address: Mapping[int, RegisteredOption]) -> RegisteredOption:
    """Return the option that an alias stands for, or the option itself."""
    while option.alias_of:
        option = by_address[option.alias_of]
    return option


def aliases_of(options: Mapping[int, RegisteredOption]) -> dict[int, list[str]]:
    """Return the names of the options that are aliases, by the address of what they stand for."""
    found: dict[int, list[str]] = {}
    for option in options.values():
        if option.alias_of:
            found.setdefault(resolve(option, options).address, []).extend(option.names)
    return found


_Row = tuple[list[str], int, Kind, int, int, int, int, int, str, int, list[str], list[int], int]


def _row(option: RegisteredOption, names: list[str]) -> _Row:
    """Return what publish_lookups takes of each option (native/interface/table.hpp)."""
    region, offset = option.place
    value = NO_SLOT if option.value_slot is None else option.value_slot, offset, region + offset
    slot = NO_SLOT if option.slot is None else option.slot
    own = slot, option.address, option.reason, option.flag_default_index
    return names, len(option.names), option.type.kind, *value, *own, *option.stored_choices()
