"""Hands every option's name, type and place to the native side, for lookups from C++."""

from __future__ import annotations

from collections.abc import Sequence

from optctx._native import NO_SLOT, Kind, LookupTable
from optctx.image.abi import element_size, type_name
from optctx.image.loaded import Image
from optctx.plan.plan import Plan, PlannedOption

__all__ = ["publish_options"]


_Form = tuple[str, Kind, Kind, int]


def publish_options(plan: Plan, index: int, image: Image) -> None:
    """For an image with this index. The first call for it counts."""
    table = LookupTable(index, image)
    aliases: dict[int, list[str]] = {}
    for option in plan.options.values():
        if option.record.alias_of:
            aliases.setdefault(_target(plan, option).record.address, []).extend(option.record.names)
    forms: dict[int, _Form] = {}
    for option in plan.options.values():
        if not option.record.alias_of:
            _add(table, option, aliases.get(option.record.address, ()), forms)
    table.publish()


def _target(plan: Plan, option: PlannedOption) -> PlannedOption:
    while option.record.alias_of:
        option = plan.options[option.record.alias_of]
    return option


def _add(
    table: LookupTable,
    option: PlannedOption,
    aliases: Sequence[str],
    forms: dict[int, _Form],
) -> None:
    record = option.record
    form = forms.get(id(record.type))  # the type itself has no cheap hash
    if form is None:
        kind, element = record.type.kind, record.type.element
        form = forms[id(record.type)] = type_name(kind), kind, element, element_size(element)
    slot = NO_SLOT if option.slot is None or option.scope == "process" else option.slot
    value = (slot, option.value_offset, option.live)
    if record.variable:
        value = (option.variable_slot if slot != NO_SLOT else NO_SLOT, 0, record.variable)
    names, stored, enum_size = record.stored_choices()
    table.add([*record.names, *aliases], form, value, (slot, 0, record.address), enum_size, names, stored)
