"""Where LLVM starts to work on a module or a function: the functions to intercept, and all ways into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from optctx._native import Image, Span, find_data_pointers
from optctx.arch import processor
from optctx.image.facts.fact import Fact, Family, find, find_members
from optctx.image.facts.runs import RUNS, Run
from optctx.image.findings import findings_of

__all__ = ["Entrance", "callers", "find_entrances", "find_runs"]

_QUESTION = "entrances"


class Entrance(NamedTuple):
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
    base = image.base
    question = tuple((address - base, caller) for address, caller in sorted(targets.items()))
    findings = findings_of(image)
    kept = findings.recall(_QUESTION, question)
    if kept is None:
        spans = [Span(address, 1) for address in sorted(targets)]
        found = [Entrance(*branch) for branch in processor().find_branches(image, targets)]
        found += [Entrance(at, target) for at, target in find_data_pointers(image, spans)]
        kept = tuple((each.address - base, each.target - base, each.code, each.is_jump) for each in found)
        findings.keep(_QUESTION, question, kept)
    return [Entrance(at + base, target + base, code, is_jump) for at, target, code, is_jump in kept]


def _places(image: Image, fact: Fact[None] | Family) -> list[int]:
    if isinstance(fact, Family):
        return [symbol.address for symbol in find_members(image, [fact])[fact]]
    found = find(image, fact)
    return [] if found is None else [found.address]
