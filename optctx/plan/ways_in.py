"""The functions of LLVM that optctx stands in front of: all ways into them, and the code to put there.

Four kinds: where LLVM starts to work on a module or a function; what works with a TargetMachine, which keeps
what it built from option values, so LLVM is given another one wherever the values in force are not those
that the machine was made under (native/intercept/machines); `Option::addOccurrence`; the parser and its
resets.

`addOccurrence` is virtual, and nothing calls it but through a table, so the tables lead to a function of
optctx's that has its signature. The parser's functions are redirected where they are entered, whatever calls
them. optctx's own parses call LLVM's function by its address and are not seen. Nothing here changes LLVM's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from optctx._native import (
    Image,
    MachineUse,
    PointerTransaction,
    SharedPointers,
    Skip,
    Span,
    Subject,
    attributes_switch,
    configure_machines,
    find_data_pointers,
    intercept_parser,
    interceptors,
    machine_interceptor,
    pack_interception,
    pack_machine_use,
    place_code,
    replace_add_occurrence,
    use_registry,
)
from optctx.arch import processor
from optctx.errors import UnsupportedImageError
from optctx.image.facts.machines import FOR_WHOLE_MACHINE
from optctx.image.facts.runs import Run
from optctx.image.findings import findings_of
from optctx.image.functions import Functions
from optctx.image.options import RegisteredOption
from optctx.image.survey import Survey

__all__ = [
    "Entrance",
    "Hooks",
    "Machines",
    "ParserCode",
    "belongs_to_machine",
    "callers",
    "find_entrances",
    "parser_code",
    "prepare_hooks",
    "setter_tables",
]

_ENTRANCES = "entrances"


class Entrance(NamedTuple):
    """One way in: a direct call or jump at `address`, or a pointer in a table of virtual functions."""

    address: int
    target: int
    code: bytes = b""  # empty: a pointer
    is_jump: bool = False  # a tail call: nothing returns here


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
    kept = findings.recall(_ENTRANCES, question)
    if kept is None:
        spans = [Span(address, 1) for address in sorted(targets)]
        found = [Entrance(*branch) for branch in processor().find_branches(image, targets)]
        found += [Entrance(at, target) for at, target in find_data_pointers(image, spans)]
        kept = tuple((each.address - base, each.target - base, each.code, each.is_jump) for each in found)
        findings.keep(_ENTRANCES, question, kept)
    return [Entrance(at + base, target + base, code, is_jump) for at, target, code, is_jump in kept]


def belongs_to_machine(option: RegisteredOption) -> bool:
    """Whether LLVM reads the option only while it makes a TargetMachine, which a module has one of."""
    return bool(option.readers) and all(re.search(FOR_WHOLE_MACHINE, reader) for reader in option.readers)


class Machines:
    """What of TargetMachines is intercepted.

    `intercepted`: functions by address. `refusal`: why there are none, or an empty string.
    """

    def __init__(self, functions: Functions, index: int) -> None:
        """Run functions of the image on scratch memory; change nothing of LLVM's."""
        self._index = index
        self.intercepted = functions.machines
        self.refusal = functions.no_machines
        if not self.refusal:
            try:
                configure_machines(index, *functions.machine_calls)
            except RuntimeError as error:
                self.refusal = str(error)
        if self.refusal:
            self.intercepted = {}

    def thunks(self) -> Iterable[tuple[int, bytes]]:
        """The code to put in the way of each function, by its address."""
        passing = machine_interceptor()
        for address, function in self.intercepted.items():
            if function.use == MachineUse.layout:
                entry = pack_interception(self._index, Subject.machine, function.argument, Skip.never)
                yield address, processor().thunk(address, entry, *interceptors())
                continue
            entry = pack_machine_use(self._index, function.use, function.argument)
            yield address, processor().passing_thunk(address, entry, passing)


class Hooks(NamedTuple):
    """`code`: (address, bytes, replacement) of calls, to be redirected with the other sites.

    `tables`: pointers in virtual function tables. `thunks`: addresses at which they begin and end.
    `follows_lljit`: LLVMContexts that llvmlite makes for LLJIT are intercepted. `refusal`: why nothing is, or
    an empty string.
    """

    code: list[tuple[int, bytes, bytes]]
    tables: PointerTransaction
    thunks: tuple[int, int]
    follows_lljit: bool
    refusal: str = ""


def prepare_hooks(image: Image, functions: Functions, index: int, machines: Machines) -> Hooks:
    """Finds all entrances and writes the thunks; changes nothing of LLVM's.

    Intercepts nothing if the library lacks a function that is needed for that.
    """
    if functions.no_runs:
        return Hooks([], PointerTransaction([]), (0, 0), False, functions.no_runs)
    runs = functions.runs
    entrances = find_entrances(image, callers(runs) | dict.fromkeys(machines.intercepted, ""))
    thunks = b""
    offsets = {}
    for address, code in [*_thunks(runs, index), *machines.thunks()]:
        offsets[address] = len(thunks)
        thunks += code
    base = place_code(thunks, image.text_begin, image.text_end)
    redirected = []
    pointers = []
    for entrance in entrances:
        to = base + offsets[entrance.target]
        if entrance.code:
            redirected.append(
                (entrance.address, entrance.code, processor().branch_to(to, is_jump=entrance.is_jump))
            )
        else:
            pointers.append((entrance.address, entrance.target, to))
    return Hooks(
        redirected,
        PointerTransaction(pointers),
        (base, base + len(thunks)),
        _begins_llvm_contexts(runs, entrances),
    )


def _thunks(runs: dict[int, Run], index: int) -> Iterable[tuple[int, bytes]]:
    before, after, skip_answer = interceptors()
    for address, run in runs.items():
        entry = pack_interception(index, run.subject, run.argument, run.skip)
        switch = attributes_switch(index) if run.for_attributes else 0
        yield address, processor().thunk(address, entry, before, after, skip_answer, switch)


def _begins_llvm_contexts(runs: dict[int, Run], entrances: list[Entrance]) -> bool:
    begins = {address for address, run in runs.items() if run.subject == Subject.llvm_context_that_begins}
    return any(entrance.target in begins for entrance in entrances)


def setter_tables(survey: Survey, index: int) -> SharedPointers:
    """The pointers to `addOccurrence` in tables of virtual functions; changes none yet.

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


class ParserCode(NamedTuple):
    """`code`: (address, bytes, what is to run instead) of each function of the parser that is intercepted.

    `unavailable`: what of it works for the process inside a context, too, and why.
    """

    code: list[tuple[int, bytes, bytes]]
    unavailable: dict[str, str]


def parser_code(survey: Survey, index: int) -> ParserCode:
    """Finds where the functions of the parser are entered; changes nothing."""
    use_registry(index, survey.registry.layout)
    made = ParserCode([], {})
    for which, function in survey.functions.parser.items():
        entrance = processor().find_entrance(survey.image, function.address) if function.address else None
        if entrance is None:
            reason = function.missing or "it begins with instructions not known here"
            made.unavailable[f"{function.what} inside a scope"] = reason
            continue
        entry, before = intercept_parser(index, which, function.address)
        code = processor().entrance_code(entrance, entry, before)
        made.code.append((entrance.address, entrance.code, code))
    return made
