"""Where LLVM starts to work on a module or a function: the functions to intercept, and all ways into them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from optctx._native import Image, Span, find_data_pointers
from optctx.arch import processor
from optctx.image.facts.fact import Fact, Family, find, find_members
from optctx.image.facts.runs import RUNS, Run

__all__ = ["Entrance", "callers", "find_entrances", "find_runs"]


@dataclass(frozen=True)
class Entrance:
    """One way in: a direct call or jump at `address`, or a pointer in a table of virtual functions."""

    address: int
    target: int
    code: bytes = b""  # empty: a pointer
    is_jump: bool = False  # a tail call: nothing returns here


def find_runs(image: Image) -> dict[int, Run]:
    """Every function to intercept, by its address."""
    return {address: run for run in RUNS for address in _places(image, run.fact)}


def callers(runs: Mapping[int, Run]) -> dict[int, str]:
    """For each address, how the names of the functions start whose calls count."""
    return {address: run.caller for address, run in runs.items()}


def find_entrances(image: Image, targets: Mapping[int, str]) -> list[Entrance]:
    """Every direct call, tail call and table entry that leads to one of the `targets` (address -> caller).

    Of the calls only those count that stand in functions whose names start with the caller.
    """
    spans = [Span(address, 1) for address in sorted(targets)]
    pointers = [Entrance(at, target) for at, target in find_data_pointers(image, spans)]
    branches = (Entrance(*branch) for branch in processor().find_branches(image, targets))
    return [*branches, *pointers]


def _places(image: Image, fact: Fact[None] | Family) -> list[int]:
    if isinstance(fact, Family):
        return [symbol.address for symbol in find_members(image, [fact])[fact]]
    found = find(image, fact)
    return [] if found is None else [found.address]
