"""Intercepts the functions in which LLVM starts to work on a module or a function."""

from __future__ import annotations

from dataclasses import dataclass

from optctx._native import Image, PointerTransaction, Subject, interceptors, pack_entry, place_code
from optctx.errors import UnsupportedImageError
from optctx.image.entries import Ways, find_ways
from optctx.image.thunks import branch_to, thunk

__all__ = ["Hooks", "prepare_hooks"]

_C_API = (
    "LLVMGetModuleContext",
    "LLVMGetFirstFunction",
    "LLVMGetNextFunction",
    "LLVMGetGlobalParent",
    "LLVMGetStringAttributeAtIndex",
    "LLVMGetStringAttributeValue",
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


def prepare_hooks(image: Image) -> Hooks:
    """Finds all entrances and writes the thunks; changes nothing of LLVM's.

    Raises UnsupportedImageError naming the functions that the library lacks.
    """
    ways = find_ways(image)
    found = {name: image.symbol(name) for name in _C_API}
    missing = [*ways.missing, *(name for name, address in found.items() if address is None)]
    if missing:
        raise UnsupportedImageError(f"{image.path}: expected the functions {', '.join(missing)}, found none")
    before, after, skip_answer = interceptors()
    thunks = b""
    offsets = {}
    for address, function in ways.intercepted.items():
        offsets[address] = len(thunks)
        entry = pack_entry(function.subject, function.argument, function.skip)
        thunks += thunk(address, entry, before, after, skip_answer)
    base = place_code(thunks, image.text_begin, image.text_end)
    code = []
    pointers = []
    for way in ways.entrances:
        to = base + offsets[way.target]
        if way.code:
            code.append((way.address, way.code, branch_to(to, is_jump=way.is_jump)))
        else:
            pointers.append((way.address, way.target, to))
    calls = [address for address in found.values() if address]
    return Hooks(code, PointerTransaction(pointers), calls, _begins_llvm_contexts(ways))


def _begins_llvm_contexts(ways: Ways) -> bool:
    begins = Subject.llvm_context_that_begins
    return any(ways.intercepted[entrance.target].subject == begins for entrance in ways.entrances)
