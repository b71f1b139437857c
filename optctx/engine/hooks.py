"""Intercepts the functions in which LLVM starts to work on a module or a function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from optctx._native import (
    Image,
    PointerTransaction,
    Subject,
    attributes_switch,
    interceptors,
    pack_interception,
    place_code,
)
from optctx.arch import processor
from optctx.engine.machines import Machines
from optctx.image.entries import Entrance, callers, find_entrances, find_runs
from optctx.image.facts.fact import need
from optctx.image.facts.features import BINDING, why_missing
from optctx.image.facts.names import INTERCEPTING
from optctx.image.facts.runs import Run

__all__ = ["Hooks", "prepare_hooks"]


class Hooks(NamedTuple):
    """`code`: (address, bytes, replacement) of calls, to be redirected with the other sites.

    `tables`: pointers in virtual function tables. `calls`: addresses of the functions of LLVM's C API that
    the interceptors need. `thunks`: addresses at which they begin and end. `follows_lljit`: LLVMContexts that
    llvmlite makes for LLJIT are intercepted. `refusal`: why nothing is, or an empty string.
    """

    code: list[tuple[int, bytes, bytes]]
    tables: PointerTransaction
    calls: list[int]
    thunks: tuple[int, int]
    follows_lljit: bool
    refusal: str = ""


def prepare_hooks(image: Image, index: int, machines: Machines) -> Hooks:
    """Finds all entrances and writes the thunks; changes nothing of LLVM's.

    Intercepts nothing if the library lacks a function that is needed for that.
    """
    if refusal := why_missing(image, BINDING):
        return Hooks([], PointerTransaction([]), [], (0, 0), False, refusal)
    runs = find_runs(image)
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
    calls = [need(image, fact).address for fact in INTERCEPTING]
    return Hooks(
        redirected,
        PointerTransaction(pointers),
        calls,
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
