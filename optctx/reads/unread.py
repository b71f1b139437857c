"""Finds and reports overrides that LLVM did not read while their context was entered or bound, and why."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Set
from contextlib import nullcontext, suppress
from functools import cache
from itertools import compress
from typing import Literal

from optctx._native import Reads, demangle
from optctx.engine.engine import Engine
from optctx.errors import (
    OptionTypeError,
    UnreadOptionError,
    UnreadOptionWarning,
    clipped,
    level_outside,
    shown,
)
from optctx.image.options import RegisteredOption
from optctx.reads.readers import reader_index
from optctx.values.layers import HasLayers, Layers
from optctx.values.overrides import Override
from optctx.wording import ALL_OPTNONE

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
NOT_RUN = "what reads it did not run, such as a pass that is not in the pipeline or had nothing to do"
_SHOWN = 3  # functions that a cause names


def why_unread(option: RegisteredOption, ran: Set[str], idle: str = "", *, skipped: bool = False) -> str:
    """Say in words why LLVM did not read the option.

    `ran`: mangled names of the functions that did read options at that time. `idle`: why LLVM could not read
    any option there, if that is so. `skipped`: whether passes skipped every function that LLVM worked on.
    """
    if not option.readers:
        return "nothing in this library reads it"
    if idle:
        return idle
    if ran and not skipped and all(re.search(_LOADING, demangle(name)) for name in ran):
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
    return ALL_OPTNONE if skipped else f"{NOT_RUN}: {names}"


def _names(readers: list[str]) -> str:
    return ", ".join(readers[:_SHOWN]) + (" and others" if len(readers) > _SHOWN else "")


def _ran(target: str, functions: Set[str]) -> bool:
    return any(_target_of(demangle(name)) == target for name in functions)


def _target_of(function: str) -> str | None:
    return next((target for target, pattern in _patterns().items() if pattern.search(function)), None)


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """Compile a pattern for each target: how names of it begin."""
    return {
        target: re.compile(rf"(?<![A-Za-z0-9_])(LLVMInitialize)?({prefixes})(?=[A-Z_:]|\b)")
        for target, prefixes in _TARGETS.items()
    }


UnreadMode = Literal["ignore", "warn", "error"]

_IDLE = (
    "LLVM read no option under it: nothing was compiled there, or on a thread that is outside the scope "
    "(optctx.wrap and optctx.propagating take a scope to other threads), or the code came from a cache"
)
# Packages with frames between `judge` and the user's code. Numba compiles, and `optctx.numba` judges, inside
# calls of Numba's functions.
_BETWEEN = ("numba", "contextlib")


def check_mode(mode: object) -> None:
    """Raise OptionTypeError if `mode` is not an UnreadMode."""
    if not isinstance(mode, str) or mode not in ("ignore", "warn", "error"):
        raise OptionTypeError(f'unread is "ignore", "warn" or "error", found {shown(mode)}')


def marks(engine: Engine, mode: UnreadMode, parent: Layers | None, own: Iterable[Override]) -> Reads | None:
    """Make the marks for reads of a new context; None if neither it nor its parents need them.

    Reads of values that it inherits from `parent` also count for `parent`. Raises UnsupportedImageError if
    the engine cannot tell what LLVM reads.
    """
    inherited = None if parent is None else parent.reads
    if inherited is None and mode == "ignore":
        return None
    reader_index(engine)  # prepares the engine to mark reads
    if inherited is None:
        return Reads.make(engine.space)
    options = [override.option for override in own]
    hidden = [slot for option in options for slot in option.slots]
    names = {option.name for option in options}
    for slot, served in engine.plan.served.items():  # storage through which only overridden options are read
        if served and all(engine.resolve(option).name in names for option in served):
            hidden.append(slot)
    return Reads.inherit(engine.space, inherited, hidden)


def judge(context: HasLayers, mode: UnreadMode, *, failed: bool) -> None:
    """Warn or raise, as `mode` says, for own overrides that LLVM has not read since the last report.

    Does nothing while a thread is inside the context or an LLVMContext is bound to it. Only warns, and never
    raises, if the block `failed`.
    """
    if mode == "ignore":
        return
    taken = context._layers.native.take_reads()
    if taken is None:
        return
    readers, skipped = taken
    engine = context._layers.engine
    read = reader_index(engine).functions(readers)
    ran = {function for functions in read.values() for function in functions}
    # Reads for debug output are not seen.
    own = context._layers.own.items()
    unread = [o for name, o in own if name not in read and engine.plan.sees_reads(o.option)]
    if not unread:
        return
    idle = "" if ran or skipped else _IDLE
    given = [clipped(" ".join(override.args())) for override in unread]
    causes = [why_unread(override.option, ran, idle, skipped=skipped) for override in unread]
    alike = {why: ", ".join(compress(given, map(why.__eq__, causes))) for why in causes}  # each cause once
    said = "; ".join(f"{own}: {why}" for why, own in alike.items())
    text = f"LLVM did not read {len(unread)} of the options that {shown(context)} sets: {said}"
    if mode == "error" and not failed:
        each = tuple(f"{own}: {why}" for own, why in zip(given, causes, strict=True))
        raise UnreadOptionError(text, tuple(override.name for override in unread), each)
    with suppress(UnreadOptionWarning) if failed else nullcontext():  # in case warnings are errors
        warnings.warn(text, UnreadOptionWarning, stacklevel=level_outside(*_BETWEEN))
