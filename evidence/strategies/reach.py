"""How far the values of contexts reach, for models of another LLVM: its other reads see none of them."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Literal, NamedTuple
from unittest.mock import patch

from optctx._native import Ownership, Readers, Region, Role, Site, Sites, demangle, read_checked
from optctx.engine import engine
from optctx.engine.attach import attach
from optctx.image.loaded import Image
from optctx.image.survey import Survey
from optctx.plan.plan import Plan, make_plan
from optctx.plan.references import References


class Reach(NamedTuple):
    """A model of another LLVM. `sees`: whether the reads of a function (demangled) see the values of
    contexts. `others`: what all other reads see, the values of the `process`, or the `registered` ones,
    whatever is set for the process.
    """

    sees: Callable[[str], bool]
    others: Literal["process", "registered"] = "process"

    def attach(self) -> None:
        """Attach under the model, in a process that has not attached.

        Contexts take every option that they would take otherwise. Registered values are those at this call.
        Options that LLVM writes stay with the process's values, and so do those of strings, lists and other
        types that own memory.
        """
        with patch.object(engine, "make_plan", self._plan):
            attach()

    def _plan(self, survey: Survey, references: References) -> Plan:
        plan = _NarrowPlan(make_plan(survey, references))
        plan.keep(self._narrow(survey.image, plan, plan.references.sites))
        return plan

    def _narrow(self, image: Image, plan: _NarrowPlan, sites: Sites) -> Sites:
        """Choose the sites that are redirected under the model."""
        of_options = {*plan.options, *(option.place.region for option in plan.options.values())}
        uses = sites.uses()
        frozen: dict[int, int] = {}  # region -> slot of the copy

        def is_redirected(site: Site) -> bool:
            if self.sees(demangle(image.name_of(site.function))):
                return True
            region = plan.regions[plan.slots[site.region]]
            is_plain = region.scoped and region.ownership == Ownership.none and not uses[site.region].writes
            if self.others == "process" or not is_plain:
                return False
            if site.region not in frozen:
                frozen[site.region] = plan.freeze(region)
            plan.shown_elsewhere[site.address] = frozen[site.region]
            return True

        return Sites([site for site in sites if site.region not in of_options or is_redirected(site)])


class _NarrowPlan(Plan):
    """A plan some sites of which lead to another region. `shown_elsewhere`: address of a site -> its slot."""

    def __init__(self, plan: Plan) -> None:
        vars(self).update(vars(plan))
        self.shown_elsewhere: dict[int, int] = {}
        self._copies: list[object] = []

    def freeze(self, region: Region) -> int:
        """Give a slot to a copy of the region's bytes, which every view shows."""
        copy = ctypes.create_string_buffer(read_checked(region.live, region.size, "an option"), region.size)
        self._copies.append(copy)
        return self.add(Region(ctypes.addressof(copy), region.size, Role.variable))

    def keep(self, sites: Sites) -> None:
        """Leave all other sites as they are. Sites that are shown elsewhere have no reader."""
        self.references = self.references._replace(sites=sites)
        alike = (Role.runtime, Role.decision)  # their words are the same for all who load them
        others = {at for at, slot in self.slots.items() if self.regions[slot].role in alike}
        seeing = [site for site in sites if site.address not in self.shown_elsewhere]
        self.readers = Readers(Sites(seeing), self.slots, others, len(self.regions))
        word = iter(self.readers.words)
        self.readers.words = [
            self.shown_elsewhere[site.address] if site.address in self.shown_elsewhere else next(word)
            for site in sites
        ]
