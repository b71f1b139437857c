"""Where an option is stored: the Option object, and its value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from optctx._native import Context, Setting
from optctx.plan.plan import Plan, PlannedOption

__all__ = ["Storage", "drifted_storage"]


class Storage(NamedTuple):
    """Addresses of an Option and of its value, good as long as this object lives."""

    option: int
    value: int
    owner: Context | Setting | None


def drifted_storage(plan: Plan, value_offset: int, drift: Setting) -> Iterator[tuple[PlannedOption, Storage]]:
    """The copies that a drift of the space holds, of each option that differs from what was registered."""
    addresses = {patch.slot: patch.address for patch in drift.patches}
    for option in plan.options.values():
        if option.slot is None or option.slot not in addresses:
            continue
        own = addresses[option.slot]
        external = option.record.type.external
        yield option, Storage(own, addresses[option.variable_slot] if external else own + value_offset, drift)
