"""How far the values of contexts reach, for models of another LLVM: its other reads see none of them."""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple

from optctx._native import Ownership, Region, Role
from optctx.arch.processor import Site, Sites
from optctx.image.memory import load_bytes
from optctx.plan.references import NO_READER, Readers

if TYPE_CHECKING:
    from optctx.plan.plan import Plan

__all__ = ["Reach", "narrowed", "readers_of"]


class Reach(NamedTuple):
    """`sees`: whether a read of an option sees the values of contexts. `others`: what all other reads see,
    the values of the `process`, or the `registered` ones, whatever is set for the process.
    """

    sees: Callable[[Site], bool]
    others: Literal["process", "registered"] = "process"


def narrowed(plan: Plan, sites: Sites, reach: Reach) -> Sites:
    """Find the sites to redirect under the model, for a plan that has given its slots and is not used yet.

    Registered values are those at this call. Options that LLVM writes stay with the process's values, and so
    do those of strings, lists and other types that own memory.
    """
    of_options = {*plan.options, *(option.place.region for option in plan.options.values())}
    uses = sites.uses()
    frozen: dict[int, int] = {}  # region -> slot of the copy

    def is_redirected(site: Site) -> bool:
        if reach.sees(site):
            return True
        region = plan.regions[plan.slots[site.region]]
        is_plain = region.scoped and region.ownership == Ownership.none and not uses[site.region].writes
        if reach.others == "process" or not is_plain:
            return False
        if site.region not in frozen:
            frozen[site.region] = _freeze(plan, region)
        plan.shown_elsewhere[site.address] = frozen[site.region]
        return True

    return sites.where(is_redirected, of_options)


def readers_of(plan: Plan, sites: Sites, slots: Mapping[int, int]) -> Readers:
    """Find the readers of the regions in `slots`, without the sites to which a copy is shown."""
    if not plan.shown_elsewhere:
        return Readers.of(sites.image, sites, slots)
    seeing = sites.where(lambda site: site.address not in plan.shown_elsewhere)
    readers = Readers.of(sites.image, seeing, slots)
    of_each = iter(readers.by_site)
    readers.by_site = array(
        "I", (NO_READER if site.address in plan.shown_elsewhere else next(of_each) for site in sites)
    )
    return readers


def _freeze(plan: Plan, region: Region) -> int:
    """Give a slot to a copy of the bytes of this region, which every view shows."""
    copy = ctypes.create_string_buffer(load_bytes(region.live, region.size, "an option"), region.size)
    plan.keep_alive.append(copy)
    return plan.add(Region(ctypes.addressof(copy), region.size, Role.variable))
