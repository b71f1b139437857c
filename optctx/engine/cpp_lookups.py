"""Hands every option's name, type and place to the native side, for lookups and scopes from C++."""

from __future__ import annotations

from collections.abc import Sequence

from optctx._native import NO_SLOT, Kind, LookupTable, Space
from optctx.image.abi import element_size, type_name
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.plan.plan import Plan

__all__ = ["publish_options"]


_Form = tuple[str, Kind, Kind, int]


def publish_options(plan: Plan, space: Space, image: Image) -> None:
    """Publish the options of the image that the space is for. The first call for it counts."""
    table = LookupTable(space, image)
    aliases: dict[int, list[str]] = {}
    for option in plan.options.values():
        if option.alias_of:
            aliases.setdefault(plan.resolve(option).address, []).extend(option.names)
    forms: dict[int, _Form] = {}
    for option in plan.options.values():
        if not option.alias_of:
            _add(table, option, aliases.get(option.address, ()), forms)
    table.publish()


def _add(
    table: LookupTable,
    option: RegisteredOption,
    aliases: Sequence[str],
    forms: dict[int, _Form],
) -> None:
    form = forms.get(id(option.type))  # the type itself has no cheap hash
    if form is None:
        kind, element = option.type.kind, option.type.element
        form = forms[id(option.type)] = type_name(kind), kind, element, element_size(element)
    region, offset = option.place
    value = (NO_SLOT if option.value_slot is None else option.value_slot, offset, region + offset)
    own = (NO_SLOT if option.slot is None else option.slot, 0, option.address)
    names, stored, enum_size = option.stored_choices()
    how_set = len(option.names), option.reason, option.flag_default_index
    table.add([*option.names, *aliases], form, value, own, how_set, enum_size, names, stored)
