"""All that is read in an image before anything is decided about it, as one value.

With the functions of LLVM that optctx calls or stands in front of, found by what they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from optctx._native import ParserFunction, Symbol
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import Fact, Family
from optctx.image.facts.interceptions import (
    BINDING,
    INTERCEPTIONS,
    SHARED_MACHINES,
    Interception,
    Work,
    why_missing,
)
from optctx.image.facts.machines import CALLS, CREATE_DATA_LAYOUT, LAYOUT_CALLS, MAKERS, OPTIONAL_CALLS
from optctx.image.facts.mangled_names import ADD_OCCURRENCE, INTERCEPTING
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.image.registry_reader import ImageRegistry, read_registry
from optctx.image.storage_beside import (
    Printing,
    StateBeside,
    StreamTable,
    find_printing,
    find_reporting,
    find_state_beside,
    find_stream_table,
)


class Survey(NamedTuple):
    """What an image says of its options, and the storage that their values pass through.

    `state`: storage beside the options, where the image has it. `missing`: names of options that lack some.
    `reporting`: what LLVM reports through. `printing`: how it decides about debug output, or else
    `no_printing`: why that cannot be known. `stream_table`: the virtual functions of its stream.
    `functions`: what optctx calls or stands in front of.
    """

    image: Image
    registry: ImageRegistry
    state: list[StateBeside]
    missing: set[str]
    reporting: list[Symbol]
    printing: Printing | None
    no_printing: str
    stream_table: StreamTable
    functions: Functions

    @property
    def options(self) -> list[RegisteredOption]:
        """Every registered option. What is decided about them is of the last plan that was made."""
        return self.registry.options


def survey(image: Image, of_host: Sequence[Interception]) -> Survey:
    """Read everything, with reads that cannot fault. Changes nothing but what LLVM makes at its first use.

    `of_host`: what its host intercepts beside what is intercepted in every image. Raises
    UnsupportedImageError with what does not fit.
    """
    registry = read_registry(image)
    state, missing = find_state_beside(image)
    reporting = find_reporting(image)
    printing, no_printing = None, ""
    try:
        printing = find_printing(image, registry.options)
    except UnsupportedImageError as error:
        no_printing = str(error)
    table = find_stream_table(image, reporting[0])
    functions = find_functions(image, of_host)
    return Survey(image, registry, state, missing, reporting, printing, no_printing, table, functions)


class Functions(NamedTuple):
    """`add_occurrence`: `Option::addOccurrence`, which parses a value; `in_tables`: (place, address) of the
    pointers to it in tables of virtual functions.

    `intercepted`: each function that optctx can stand in front of, by address. `unavailable`: by feature,
    what the image lacks for it. `work_calls`: what the handlers of work call; `machine_calls`: those
    of machines, by what native/intercept/machine_copies.hpp calls them; `machine_makers`: those that make
    each target's.
    """

    add_occurrence: int
    in_tables: list[tuple[int, int]]
    intercepted: dict[int, Interception]
    unavailable: dict[str, str]
    work_calls: list[int]
    machine_calls: dict[str, int]
    machine_makers: list[int]


def find_functions(image: Image, of_host: Sequence[Interception]) -> Functions:
    """Find all that there are. `of_host`: what its host intercepts beside.

    Raises UnsupportedImageError without `addOccurrence`.
    """
    rows = (*INTERCEPTIONS, *of_host)
    families = [MAKERS, *(row.what for row in rows if isinstance(row.what, Family))]
    members = image.findings.find_members(families)  # in one pass over the names
    add_occurrence = image.findings.need(ADD_OCCURRENCE).address
    unavailable = {feature: why for feature, why in _missing(image) if why}
    intercepted: dict[int, Interception] = {}
    for row in rows:
        if row.feature in unavailable or (isinstance(row.handler, Work) and BINDING in unavailable):
            continue
        if isinstance(row.what, Family):
            intercepted.update((symbol.address, row) for symbol in members[row.what])
        elif (found := image.findings.find(row.what)) is not None:
            intercepted[found.address] = row
    return Functions(
        add_occurrence,
        image.findings.pointers_to(add_occurrence),
        intercepted,
        unavailable,
        [] if BINDING in unavailable else [image.findings.need(fact).address for fact in INTERCEPTING],
        _machine_calls(image),
        [symbol.address for symbol in members[MAKERS]],
    )


def _missing(image: Image) -> Iterator[tuple[str, str]]:
    """Yield each feature that functions are intercepted for, and what the image lacks for it, if anything."""
    lacking = image.findings.lacking
    binding = why_missing(image, BINDING)
    yield BINDING, binding
    machines = [row.what for row in INTERCEPTIONS if row.feature == SHARED_MACHINES]
    calls: Sequence[Fact[Any] | Family] = (MAKERS, *CALLS.values(), *_layout_calls(image).values())
    yield SHARED_MACHINES, lacking(machines) or lacking(calls) or binding
    for row in INTERCEPTIONS:
        if isinstance(row.handler, ParserFunction):
            yield row.feature, lacking([row.what])


def _layout_calls(image: Image) -> Mapping[str, Fact[None]]:
    """Select what tells the layout of a machine, if no call that asks for it can be intercepted."""
    return LAYOUT_CALLS if image.findings.lacking((CREATE_DATA_LAYOUT,)) else {}


def _machine_calls(image: Image) -> dict[str, int]:
    facts = {**CALLS, **OPTIONAL_CALLS, **_layout_calls(image)}
    found = {name: image.findings.find(fact) for name, fact in facts.items()}
    return {name: each.address for name, each in found.items() if each is not None}
