"""One instruction that refers to an option's storage, and whether it can be redirected."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Site", "SiteRefusal"]


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
