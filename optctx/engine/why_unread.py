"""Why LLVM did not read an option that was set: the likely cause, told from the functions that could have."""

from __future__ import annotations

import re
from collections.abc import Set
from functools import cache

from optctx._native import demangle
from optctx.plan.plan import PlannedOption

__all__ = ["why_unread"]

# How the names of a target's functions and classes begin.
_TARGETS = {
    "AArch64": "AArch64",
    "AMDGPU": "AMDGPU|GCN|SI|R600|Amdgcn",
    "ARC": "ARC",
    "ARM": "ARM|Thumb",
    "AVR": "AVR",
    "BPF": "BPF",
    "CSKY": "CSKY",
    "DirectX": "DirectX|DXIL",
    "Hexagon": "Hexagon",
    "Lanai": "Lanai",
    "LoongArch": "LoongArch",
    "M68k": "M68k",
    "Mips": "Mips",
    "MSP430": "MSP430",
    "NVPTX": "NVPTX",
    "PowerPC": "PPC|PowerPC",
    "RISC-V": "RISCV",
    "Sparc": "Sparc",
    "SPIR-V": "SPIRV",
    "SystemZ": "SystemZ",
    "VE": "VE",
    "WebAssembly": "WebAssembly",
    "X86": "X86",
    "XCore": "XCore",
    "Xtensa": "Xtensa",
}
_CONSTRUCTOR = r"(\w+)(<[^()]*>)?::\1\("
# Functions that make modules out of text or bitcode, and no code out of modules.
_LOADING = (
    r"\b(LLParser|BitcodeReader|Constant\w+::get\w*|(Module|Function|BasicBlock)::\2|LLVMContextImpl"
    r"|Upgrade\w+|Verifier)\b"
)
_LOADED = (
    "nothing was compiled under it: LLVM loaded modules and no more, such as code that a cache had, and that "
    "was compiled before"
)
_SHOWN = 3  # functions that a cause names


def why_unread(option: PlannedOption, ran: Set[str], idle: str = "") -> str:
    """In words. `ran`: mangled names of the functions that did read options at that time. `idle`: why LLVM
    could not read any option there, if that is so.
    """
    if not option.readers:
        return "nothing in this library reads it"
    if idle:
        return idle
    if ran and all(re.search(_LOADING, demangle(name)) for name in ran):
        return _LOADED
    readers = [demangle(name) for name in option.readers]
    names = _names(readers)
    targets = [_target_of(reader) for reader in readers]
    own = targets[0]
    if own is not None and all(target == own for target in targets) and not _ran(own, ran):
        return f"only {own} code reads it, and none of that ran: {names}"
    makers = [reader for reader in readers if re.search(_CONSTRUCTOR, reader)]
    if makers:
        others = "" if len(makers) == len(readers) else ", and nothing else that reads it ran"
        return f"it is read when an object is made, and none was made during it{others}: {_names(makers)}"
    return (
        f"what reads it did not run, such as a pass that is not in the pipeline or had nothing to do: {names}"
    )


def _names(readers: list[str]) -> str:
    return ", ".join(readers[:_SHOWN]) + (" and others" if len(readers) > _SHOWN else "")


def _ran(target: str, functions: Set[str]) -> bool:
    return any(_target_of(demangle(name)) == target for name in functions)


def _target_of(function: str) -> str | None:
    return next((target for target, pattern in _patterns().items() if pattern.search(function)), None)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """By target: the beginning of a name of it."""
    return {
        target: re.compile(rf"(?<![A-Za-z0-9_])(LLVMInitialize)?({prefixes})(?=[A-Z_:]|\b)")
        for target, prefixes in _TARGETS.items()
    }
