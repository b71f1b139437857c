"""Hands every option's name, type and place to the native side, for lookups and scopes from C++."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from optctx._native import NO_SLOT, Kind, LateLookups, LateOptions, LookupTable, Space
from optctx.image.abi import element_size, type_name
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.plan.plan import Plan

__all__ = ["publish_late", "publish_options"]


_Form = tuple[str, Kind, Kind, int]
_Place = tuple[int, int, int]
_HowSet = tuple[int, str, int]
_Described = tuple[_Form, _Place, _Place, _HowSet, int, list[str], list[int]]


def publish_options(plan: Plan, space: Space, image: Image, late: LateOptions) -> None:
    """Publish the options of the image that the space is for. The first call for it counts.

    `late`: where to look for options that are registered later.
    """
    table = LookupTable(space, image, late)
    aliases: dict[int, list[str]] = {}
    for option in plan.options.values():
        if option.alias_of:
            aliases.setdefault(plan.resolve(option).address, []).extend(option.names)
    forms: dict[int, _Form] = {}
    for option in plan.options.values():
        if not option.alias_of:
            table.add([*option.names, *aliases.get(option.address, ())], *_described(option, forms))
    table.publish()


def publish_late(
    index: int, late: Iterable[RegisteredOption], by_address: Mapping[int, RegisteredOption]
) -> None:
    """Publish the late options of an image whose own were published, in place of earlier late ones.

    `by_address`: all options, which aliases lead to.
    """
    table = LateLookups(index)
    forms: dict[int, _Form] = {}
    for option in late:
        target = option
        while target.alias_of:
            target = by_address[target.alias_of]
        assert option.late is not None
        table.add(list(option.names), *_described(target, forms), option.late)
    table.publish()


def _described(option: RegisteredOption, forms: dict[int, _Form]) -> _Described:
    """Return what LookupTable.add takes after the names."""
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
