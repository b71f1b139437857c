"""Hands every option's name, type and place to the native side, for lookups from C++ code."""

from __future__ import annotations

from collections.abc import Mapping

from optctx._native import NO_SLOT, Kind, LookupNames, Space, publish_lookups
from optctx.image.abi import element_size, type_name
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption


def publish(
    space: Space, image: Image, options: Mapping[int, RegisteredOption], aliases: Mapping[int, list[str]]
) -> None:
    """Let C++ code find the options."""
    lookups = LookupNames()
    forms: dict[int, _Form] = {}
    for option in options.values():
        if not option.alias_of:
            names = [*option.names, *aliases.get(option.address, ())]
            lookups.add(names, *_described(option, forms))
    publish_lookups(space, image, lookups)


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


_Form = tuple[str, Kind, Kind, int]
_Place = tuple[int, int, int]
_HowSet = tuple[int, str, int]
_Described = tuple[_Form, _Place, _Place, _HowSet, int, list[str], list[int]]


def _described(option: RegisteredOption, forms: dict[int, _Form]) -> _Described:
    """Return what LookupNames.add takes after the names."""
    form = forms.get(id(option.type))  # the type itself has no cheap hash
    if form is None:
        kind, element = option.type.kind, option.type.element
        form = forms[id(option.type)] = type_name(kind), kind, element, element_size(element)
    region, offset = option.place
    value = (NO_SLOT if option.value_slot is None else option.value_slot, offset, region + offset)
    own = (NO_SLOT if option.slot is None else option.slot, 0, option.address)
    names, stored, enum_size = option.stored_choices()
    how_set = len(option.names), option.reason, option.flag_default_index
    return form, value, own, how_set, enum_size, names, stored
