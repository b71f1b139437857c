"""How far the values of contexts reach, for models of another LLVM: its other reads see none of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Literal, NamedTuple

from optctx._native import Ownership, Region, Role
from optctx.arch.processor import Site, Sites
from optctx.image.memory import load_bytes
from optctx.plan.plan import Plan

__all__ = ["Reach"]


class Reach(NamedTuple):
    """A model for `attach(narrow=...)`. `sees`: whether a read of an option sees the values of contexts.
    `others`: what all other reads see, the values of the `process`, or the `registered` ones, whatever is set
    for the process.
    """

    sees: Callable[[Site], bool]
    others: Literal["process", "registered"] = "process"

    def narrow(self, plan: Plan, sites: Sites) -> Sites:
        """Choose the sites that are redirected under the model.

        Registered values are those at this call. Options that LLVM writes stay with the process's values, and
        so do those of strings, lists and other types that own memory.
        """
        of_options = {*plan.options, *(option.place.region for option in plan.options.values())}
        uses = sites.uses()
        frozen: dict[int, int] = {}  # region -> slot of the copy

        def is_redirected(site: Site) -> bool:
            if self.sees(site):
                return True
            region = plan.regions[plan.slots[site.region]]
            is_plain = region.scoped and region.ownership == Ownership.none and not uses[site.region].writes
            if self.others == "process" or not is_plain:
                return False
            if site.region not in frozen:
                frozen[site.region] = _freeze(plan, region)
            plan.shown_elsewhere[site.address] = frozen[site.region]
            return True

        return sites.where(is_redirected, of_options)


def _freeze(plan: Plan, region: Region) -> int:
    """Give a slot to a copy of the region's bytes, which every view shows."""
    copy = ctypes.create_string_buffer(load_bytes(region.live, region.size, "an option"), region.size)
    plan.keep_alive.append(copy)
    return plan.add(Region(ctypes.addressof(copy), region.size, Role.variable))
