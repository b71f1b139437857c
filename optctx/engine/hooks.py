"""Intercepts the functions in which LLVM starts to work on a module or a function."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optctx._native import Image, PointerTransaction, Subject, interceptors, pack_entry, place_code
from optctx.arch import processor
from optctx.engine.machines import Machines
from optctx.errors import UnsupportedImageError
from optctx.image.entries import Entrance, Ways, find_entrances, find_ways

__all__ = ["Hooks", "prepare_hooks"]

_C_API = (
    "LLVMGetModuleContext",
    "LLVMGetFirstFunction",
    "LLVMGetNextFunction",
    "LLVMGetGlobalParent",
    "LLVMGetStringAttributeAtIndex",
    "LLVMGetStringAttributeValue",
    "LLVMGetTarget",
    "LLVMGetTargetMachineTriple",
)


@dataclass(frozen=True)
class Hooks:
    """`code`: (address, bytes, replacement) of calls, to be redirected with the other sites.

    `tables`: pointers in virtual function tables. `calls`: addresses of the functions of LLVM's C API that
    the interceptors need. `follows_lljit`: LLVMContexts that llvmlite makes for LLJIT are intercepted.
    """

    code: list[tuple[int, bytes, bytes]]
    tables: PointerTransaction
    calls: list[int]
    follows_lljit: bool


def prepare_hooks(image: Image, index: int, machines: Machines) -> Hooks:
    """Finds all entrances and writes the thunks; changes nothing of LLVM's.

    Raises UnsupportedImageError naming the functions that the library lacks.
    """
    ways = find_ways(image)
    found = {name: image.symbol(name) for name in _C_API}
    missing = [*ways.missing, *(name for name, address in found.items() if address is None)]
    if missing:
        raise UnsupportedImageError(f"{image.path}: expected the functions {', '.join(missing)}, found none")
    entrances = find_entrances(image, ways.callers() | dict.fromkeys(machines.intercepted, ""))
    thunks = b""
    offsets = {}
    for address, code in [*_thunks(ways, index), *machines.thunks()]:
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
    calls = [address for address in found.values() if address]
    return Hooks(redirected, PointerTransaction(pointers), calls, _begins_llvm_contexts(ways, entrances))


def _thunks(ways: Ways, index: int) -> Iterable[tuple[int, bytes]]:
    before, after, skip_answer = interceptors()
    for address, function in ways.intercepted.items():
        entry = pack_entry(index, function.subject, function.argument, function.skip)
        yield address, processor().thunk(address, entry, before, after, skip_answer)


def _begins_llvm_contexts(ways: Ways, entrances: list[Entrance]) -> bool:
    begins = {
        address
        for address, function in ways.intercepted.items()
        if function.subject == Subject.llvm_context_that_begins
    }
    return any(entrance.target in begins for entrance in entrances)
