"""Hands every option's name, type and place to the native side, for lookups from C++."""

from __future__ import annotations

from optctx._native import NO_SLOT, Image, LookupTable, Place
from optctx.engine.plan import Plan, PlannedOption
from optctx.image.typenames import element_size, type_name

__all__ = ["publish_options"]


def publish_options(plan: Plan, index: int, image: Image, value_offset: int) -> None:
    """For an image with this index. The first call for it counts."""
    table = LookupTable(index, image)
    aliases: dict[int, list[str]] = {}
    for option in plan.options.values():
        if option.record.alias_of:
            aliases.setdefault(_target(plan, option).record.address, []).extend(option.record.names)
    for option in plan.options.values():
        if not option.record.alias_of:
            _add(table, option, aliases.get(option.record.address, []), value_offset)
    table.publish()


def _target(plan: Plan, option: PlannedOption) -> PlannedOption:
    while option.record.alias_of:
        option = plan.options[option.record.alias_of]
    return option


def _add(table: LookupTable, option: PlannedOption, aliases: list[str], value_offset: int) -> None:
    record = option.record
    kind, element = record.type.kind, record.type.element
    names, stored, enum_size = record.stored_choices()
    slot = NO_SLOT if option.slot is None or option.scope == "process" else option.slot
    value = (slot, value_offset, record.address + value_offset)
    if record.variable:
        value = (option.variable_slot if slot != NO_SLOT else NO_SLOT, 0, record.variable)
    table.add(
        [*record.names, *aliases],
        type_name(kind),
        (kind, element),
        (element_size(element), enum_size),
        Place(*value),
        Place(slot, 0, record.address),
        list(zip(names, stored, strict=True)),
    )
