"""The functions of LLVM that optctx calls or stands in front of, found in an image by what they are."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from optctx._native import Image, ParserFunction
from optctx.image.facts.fact import Fact, Family, find, find_members, lacking, need
from optctx.image.facts.features import BINDING, FAMILIES, why_missing
from optctx.image.facts.machines import CALLS, CREATE, MACHINE_FUNCTIONS, SETTINGS, MachineFunction
from optctx.image.facts.names import (
    ADD_OCCURRENCE,
    INTERCEPTING,
    PARSE_OPTIONS,
    REGISTERED_OPTIONS,
    RESET_OPTIONS,
    RESET_PARSER,
)
from optctx.image.facts.runs import RUNS, Run
from optctx.image.findings import findings_of

__all__ = ["Functions", "MachineCalls", "ParserEntry", "find_functions"]

_PARSER: Final[dict[ParserFunction, Fact[Any]]] = {
    ParserFunction.parse: PARSE_OPTIONS,
    ParserFunction.reset_all: RESET_OPTIONS,
    ParserFunction.reset_parser: RESET_PARSER,
    ParserFunction.registered: REGISTERED_OPTIONS,
}


class MachineCalls(NamedTuple):
    """What machines are made and changed with, for `configure_machines`.

    `named`: addresses of functions by what native/intercept/machine_copies.hpp calls them. `settings`: those
    of functions that change a machine as the code generator does.
    """

    named: dict[str, int]
    settings: list[int]


class ParserEntry(NamedTuple):
    """A function of LLVM's parser. `missing`: why it is not there, with address 0."""

    what: str
    address: int
    missing: str


class Functions(NamedTuple):
    """`add_occurrence`: `Option::addOccurrence`, which parses a value; `in_tables`: (place, address) of the
    pointers to it in tables of virtual functions.

    `runs`: where LLVM starts to work, by address; `run_calls`: what their interceptors call; `no_runs`: why
    they cannot be intercepted, or an empty string. `machines`: what works with a TargetMachine, by address;
    `no_machines`: why that cannot be intercepted. `parser`: LLVM's parser and its resets.
    """

    add_occurrence: int
    in_tables: list[tuple[int, int]]
    runs: dict[int, Run]
    run_calls: list[int]
    no_runs: str
    machines: dict[int, MachineFunction]
    machine_calls: MachineCalls
    no_machines: str
    parser: dict[ParserFunction, ParserEntry]


def find_functions(image: Image) -> Functions:
    """Find all that there are. Raises UnsupportedImageError without `addOccurrence`."""
    members = find_members(image, FAMILIES)  # in one pass over the names
    add_occurrence = need(image, ADD_OCCURRENCE).address
    no_runs = why_missing(image, BINDING)
    machines = {
        symbol.address: function for function in MACHINE_FUNCTIONS for symbol in members[function.family]
    }
    families = [function.family for function in MACHINE_FUNCTIONS]
    return Functions(
        add_occurrence,
        findings_of(image).pointers_to(add_occurrence),
        {address: run for run in RUNS for address in _places(image, run.fact)},
        [] if no_runs else [need(image, fact).address for fact in INTERCEPTING],
        no_runs,
        machines,
        _machine_calls(image),
        lacking(image, families) or lacking(image, (CREATE, *CALLS.values())),
        {which: _parser_entry(image, fact) for which, fact in _PARSER.items()},
    )


def _places(image: Image, fact: Fact[None] | Family) -> list[int]:
    if isinstance(fact, Family):
        return [symbol.address for symbol in find_members(image, [fact])[fact]]
    found = find(image, fact)
    return [] if found is None else [found.address]


def _machine_calls(image: Image) -> MachineCalls:
    create = find(image, CREATE)
    calls = {name: find(image, fact) for name, fact in CALLS.items()}
    named = {name: found.address for name, found in calls.items() if found is not None}
    if create is not None:
        named[f"create_by_{create.form}"] = create.address
    return MachineCalls(
        named, [found.address for fact in SETTINGS if (found := find(image, fact)) is not None]
    )


def _parser_entry(image: Image, fact: Fact[Any]) -> ParserEntry:
    found = find(image, fact)
    if found is None:
        return ParserEntry(fact.what, 0, lacking(image, [fact]))
    return ParserEntry(fact.what, found.address, "")
