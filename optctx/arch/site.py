"""One instruction that refers to an option's storage, and whether it can be redirected."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

__all__ = ["Site", "SiteRefusal", "settle"]


@dataclass(frozen=True, slots=True)  # thousands of them live as long as the process
class Site:
    """One instruction that refers to the region that begins at `region`, `offset` bytes into it."""

    address: int
    code: bytes
    region: int
    offset: int
    function: str
    tactic: str  # how its trampoline gets a register, in a word of the processor's folder
    scratch: int  # number of that register
    operand_at: int  # index, in `code`, of what names the operand
    writes: bool
    takes_address: bool
    reads: bool  # or takes the address, for whatever comes later


@dataclass(frozen=True, slots=True)
class SiteRefusal:
    """An instruction that refers to a region and cannot be redirected."""

    address: int
    region: int
    function: str
    code: bytes
    reason: str


def settle(
    ambiguous: dict[int, list[Site]], tables: AbstractSet[int], sites: list[Site], refusals: list[SiteRefusal]
) -> None:
    """Decide about sites whose address may mean the end of the object before: that of an array, in a loop.

    The only reference to a table is its own. Every other one, by region, is refused.
    """
    referred = {site.region for site in sites}
    reason = "it may mean the end of the object before, which that function refers to as well"
    for region, found in ambiguous.items():
        if region in tables and region not in referred and len(found) == 1:
            sites += found
        else:
            refusals += [SiteRefusal(s.address, s.region, s.function, s.code, reason) for s in found]
