"""All ways into the functions of LLVM that optctx stands in front of, and the code to put there.

Calls and tables of virtual functions lead to thunks, and parser functions are redirected where they start,
whatever calls them. `addOccurrence` is virtual, and nothing calls it but through a table, so the tables lead
to a function of optctx's that has its signature. optctx's own parses call LLVM's function by its address and
are not seen. Nothing here changes LLVM's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from optctx._native import (
    MachineUse,
    ParserFunction,
    SharedPointers,
    Span,
    Subject,
    attributes_switch,
    configure_machines,
    interceptors,
    pack_interception,
    place_code,
    replace_add_occurrence,
    use_parser,
)
from optctx.arch import processor
from optctx.arch.code import Entrance
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import Fact
from optctx.image.facts.interceptions import SHARED_MACHINES, Interception, Work
from optctx.image.facts.machines import FOR_WHOLE_MACHINE
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.image.survey import Survey

_ENTRANCES = "entrances"

Change = tuple[int, bytes, bytes]  # address, LLVM's instruction, what is to run instead


def called(intercepted: Mapping[int, Interception]) -> dict[int, str]:
    """Select what is intercepted where it is called: for each address, how the names of callers start."""
    return {
        address: row.caller
        for address, row in intercepted.items()
        if not isinstance(row.handler, ParserFunction)
    }


def find_entrances(image: Image, targets: Mapping[int, str]) -> list[Entrance]:
    """Find each direct call, tail call and table entry that leads to one of `targets` (address -> caller).

    Of the calls only those count that stand in functions whose names start with the caller.
    """
    base = image.base
    question = tuple((address - base, caller) for address, caller in sorted(targets.items()))
    findings = image.findings
    kept = findings.recall(_ENTRANCES, question)
    if kept is None:
        spans = [Span(address, 1) for address in sorted(targets)]
        found = list(processor.find_branches(image, targets))
        found += [Entrance(at, target) for at, target in image.pointers_into(spans)]
        kept = tuple((each.address - base, each.target - base, each.code, each.is_jump) for each in found)
        findings.keep(_ENTRANCES, question, kept)
    return [Entrance(at + base, target + base, code, is_jump) for at, target, code, is_jump in kept]


def belongs_to_machine(option: RegisteredOption) -> bool:
    """Tell whether LLVM reads the option only while it makes a TargetMachine, which a module has one of."""
    return bool(option.readers) and all(re.search(FOR_WHOLE_MACHINE, reader) for reader in option.readers)


class Hooks(NamedTuple):
    """`calls`: what is to run in place of calls and jumps; `starts`: in place of a function's start; both are
    redirected with the other sites. `tables`: pointers in tables of virtual functions.

    `unavailable`: features that need a function which cannot be intercepted, and why.
    `begins_llvm_contexts`: so are LLVMContexts that LLVM makes for a JIT.
    """

    calls: list[Change]
    starts: list[Change]
    tables: SharedPointers
    unavailable: dict[str, str]
    begins_llvm_contexts: bool


def prepare_hooks(survey: Survey, index: int) -> Hooks:
    """Find all ways in, run functions of the image on scratch memory, and write the code that is to run."""
    image, functions = survey.image, survey.functions
    intercepted, unavailable = dict(functions.intercepted), dict(functions.unavailable)
    if SHARED_MACHINES not in unavailable:
        try:
            configure_machines(index, functions.machine_calls, functions.machine_makers, image.end)
        except RuntimeError as error:
            unavailable[SHARED_MACHINES] = str(error)
            intercepted = {at: row for at, row in intercepted.items() if row.feature != SHARED_MACHINES}
    targets = called(intercepted)
    entrances = find_entrances(image, targets) if targets else []
    entrances = [each for each in entrances if not _is_own(image, each, intercepted[each.target].part_of)]
    code, offsets = b"", {}
    for address in targets:
        offsets[address] = len(code)
        code += _thunk(address, intercepted[address], index)
    begin = place_code(code, image.text_begin, image.text_end) if code else 0
    thunks = {at: begin + offset for at, offset in offsets.items()}
    calls = [
        (each.address, each.code, processor.branch_to(thunks[each.target], is_jump=each.is_jump))
        for each in entrances
        if each.code
    ]
    pointers = [(each.address, each.target, thunks[each.target]) for each in entrances if not each.code]
    return Hooks(
        calls,
        _starts(survey, index, unavailable),
        SharedPointers(pointers),
        unavailable,
        any(intercepted[each.target].handler == Work(Subject.llvm_context_that_begins) for each in entrances),
    )


def _is_own(image: Image, entrance: Entrance, whole: Fact[Any] | None) -> bool:
    """Tell whether a call stands in the function that is intercepted as a whole."""
    found = None if whole is None else image.findings.find(whole)
    if found is None or not entrance.code:
        return False
    function = image.findings.function_at(entrance.address)
    return function is not None and function.address == found.address


def setter_tables(survey: Survey, index: int) -> SharedPointers:
    """Find the pointers to `addOccurrence` in virtual function tables, which attaching or a watcher changes.

    Raises UnsupportedImageError if the tables are not as expected.
    """
    path, functions = survey.image.path, survey.functions
    if not functions.in_tables:
        raise UnsupportedImageError(
            f"{path}: expected pointers to Option::addOccurrence in tables of virtual functions, found none"
        )
    replacement = replace_add_occurrence(index, functions.add_occurrence)
    try:
        return SharedPointers([(at, target, replacement) for at, target in functions.in_tables])
    except RuntimeError as error:
        raise UnsupportedImageError(f"{path}: {error}; nothing was changed") from error


def _thunk(address: int, row: Interception, index: int) -> bytes:
    before, after, skip_answer = interceptors()
    entry = _entry(row, index)
    if isinstance(row.handler, MachineUse):
        return processor.passing_thunk(address, entry, before)
    switch = attributes_switch(index) if row.for_attributes else 0
    return processor.thunk(address, entry, before, after, skip_answer, switch)


def _entry(row: Interception, index: int) -> int:
    words = row.argument
    argument = words if isinstance(words, int) else processor.register_of(words)
    return pack_interception(index, argument, row.handler)


def _starts(survey: Survey, index: int, unavailable: dict[str, str]) -> list[Change]:
    """Write the code in front of the parser's functions. Adds to `unavailable` what cannot be intercepted."""
    before, _, _ = interceptors()
    changes = []
    for address, row in survey.functions.intercepted.items():
        if not isinstance(row.handler, ParserFunction):
            continue
        entrance = processor.find_entrance(survey.image, address)
        if entrance is None:
            unavailable[row.feature] = "it begins with instructions not known here"
            continue
        if row.handler is ParserFunction.parse:
            use_parser(index, address)
        code = processor.entrance_code(entrance, _entry(row, index), before)
        changes.append((entrance.address, entrance.code, code))
    return changes
