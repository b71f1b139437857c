"""The designs, and what each leaves process-wide or reads from the wrong place, option by option."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, NamedTuple

from evidence.strategies.library_options import CONTEXTS, has_context
from optctx.facts import OptionFacts

HasContext = Callable[[str], bool]  # of a function of LLVM, demangled
Kind = Literal["process-wide", "no field", "no context"]


@dataclass(frozen=True)
class Design:
    """Where the values of options are. `contexts`: from which of these a reader asks for them; None if
    readers ask the thread. `fields`: whether options are fields, which LLVM has for some types only."""

    name: str
    about: str
    contexts: frozenset[str] | None = None
    fields: bool = False


DESIGNS: Final = {
    design.name: design
    for design in (
        Design("thread", "a thread-local pointer to the values"),
        Design(
            "table",
            "a table by id in the LLVMContext (issue 182385)",
            frozenset({"Function", "Module", "MachineFunction", "LLVMContext"}),
        ),
        Design(
            "library-options",
            "structs of libraries in the LLVMContext, MC through MCContext (LLVM main)",
            CONTEXTS,
            fields=True,
        ),
    )
}


class Fault(NamedTuple):
    """What is wrong with an option under a design.

    process-wide: it cannot have a value per thread, for the reason in `detail`. no field: LLVM's structs have
    no field for its type. no context: `detail` names the functions that read it and have no context.
    """

    option: str
    kind: Kind
    detail: str


def own(design: Design) -> HasContext:
    """By the parameters and the own object of the reader: LLVM as it is."""
    contexts = design.contexts or frozenset()
    return lambda function: has_context(function, contexts)


def handed_on(design: Design, reads: Path) -> HasContext:
    """By what was on the stack of every read in a file of `evidence.conformance.reads --json`.

    This is a port in which callers hand their contexts on. A function that is not in the file has one.
    """
    contexts = design.contexts or frozenset()
    places = json.loads(reads.read_text())["places"]
    without = {place["function"] for place in places if not contexts & place["contexts"].keys()}
    return lambda function: function not in without


def faults(
    design: Design, facts: Iterable[OptionFacts], without_field: set[str], has_one: HasContext
) -> dict[str, Fault]:
    """By every name of an option, aliases included. Without a fault, a design does what a process does."""
    found: dict[str, Fault] = {}
    aliases: list[OptionFacts] = []
    for option in facts:
        if option.alias_of:
            aliases.append(option)
            continue
        fault = _fault(design, option, option.name in without_field, has_one)
        if fault is not None:
            found[option.name] = fault
    for alias in aliases:
        if alias.alias_of in found:
            found[alias.name] = found[alias.alias_of]
    return found


def _fault(design: Design, option: OptionFacts, no_field: bool, has_one: HasContext) -> Fault | None:
    if option.scope == "process":
        return Fault(option.name, "process-wide", option.reason)
    if design.fields and no_field:
        return Fault(option.name, "no field", option.type)
    if design.contexts is None:
        return None
    readers = sorted({reader.function for reader in option.readers or () if not has_one(reader.function)})
    return Fault(option.name, "no context", "; ".join(readers)) if readers else None
