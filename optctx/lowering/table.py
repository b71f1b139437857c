"""Options for which LLVM has an exact equivalent in a module; and others, with what is not the same.

Each row is what the only function that reads the option does with the attribute or flag. `make conformance`
judges the rows on LLVM's own tests (`evidence/conformance/lowered.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from optctx.travelling.module_attributes import Change, FunctionAttribute, ModuleFlag

__all__ = ["EQUIVALENTS", "NOT_EXACT", "Equivalent"]


class Equivalent(NamedTuple):
    """How a module says what an option says.

    `wins`: what LLVM takes where both say something. "either": the option and the attribute each turn it on.
    `make`: from the option's value, the change of the module; None if it needs none.
    """

    wins: Literal["module", "option", "either"]
    make: Callable[[Any], Change | None]
    number: bool = False  # LLVM reads a number from the attribute, which stays where a function has it
    most: int = (1 << 32) - 1  # the largest value that the module can say
    architectures: tuple[str, ...] = ()  # how triples begin where only this option counts; () is all


def _given(name: str, value: str | None = "") -> Callable[[bool], Change | None]:
    return lambda on: FunctionAttribute(name, value) if on else None


def _text(name: str) -> Callable[[str], Change]:
    return lambda text: FunctionAttribute(name, text)


def _number(name: str) -> Callable[[int], Change]:
    return lambda number: FunctionAttribute(name, str(number))


def _replaced(name: str, least: int = 0) -> Callable[[int], Change]:
    return lambda number: FunctionAttribute(name, str(max(number, least)), replace=True)


def _decided(name: str, yes: str, no: str) -> Callable[[bool], Change]:
    return lambda on: FunctionAttribute(name, yes if on else no, replace=True)


_INT = (1 << 31) - 1
_MAX_REGS = "amdgpu-promote-alloca-to-vector-max-regs"
_RATIO = "amdgpu-promote-alloca-to-vector-vgpr-ratio"
_CLAUSE = "amdgpu-hard-clause-length-limit"
_EXPERT = "amdgpu-expert-scheduling-mode"
_PRIORITY = "amdgpu-set-wave-priority-valu-insts-threshold"

EQUIVALENTS: Final[dict[str, Equivalent]] = {
    # GCNTargetMachine::createMachineScheduler
    "amdgpu-sched-strategy": Equivalent("module", _text("amdgpu-sched-strategy")),
    # SIFormMemoryClauses, AMDGPUSetWavePriority
    "amdgpu-max-memory-clause": Equivalent("module", _number("amdgpu-max-memory-clause"), number=True),
    _PRIORITY: Equivalent("module", _number("amdgpu-wave-priority-threshold"), number=True),
    # GCNSubtarget::getNSAThreshold takes the attribute as an int, and less than 2 as 2.
    "amdgpu-nsa-threshold": Equivalent("option", _replaced("amdgpu-nsa-threshold", 2), most=_INT),
    # AMDGPUPromoteAllocaImpl
    _MAX_REGS: Equivalent("option", _replaced(_MAX_REGS)),
    _RATIO: Equivalent("option", _replaced(_RATIO)),
    # SIInsertHardClauses, SIInsertWaitcnts
    _CLAUSE: Equivalent("option", _replaced(_CLAUSE)),
    _EXPERT: Equivalent("option", _decided(_EXPERT, "true", "false")),
    # CallAnalyzer takes the caller's attribute as an int.
    "inline-max-stacksize": Equivalent("option", _replaced("inline-max-stacksize"), most=_INT),
    # SIPreAllocateWWMRegs
    "amdgpu-prealloc-sgpr-spill-vgprs": Equivalent("either", _given("amdgpu-prealloc-sgpr-spill-vgprs")),
    # getAMDHSACodeObjectVersion: the flag holds the version times 100.
    "amdhsa-code-object-version": Equivalent(
        "module",
        lambda version: ModuleFlag("amdhsa_code_object_version", version * 100),
        most=((1 << 32) - 1) // 100,
    ),
    # SampleProfileLoader
    "profile-sample-accurate": Equivalent("either", _given("profile-sample-accurate", "true")),
    # X86SpeculativeLoadHardeningPass. AArch64 reads the attribute too, and not the option.
    "x86-speculative-load-hardening": Equivalent(
        "either", _given("speculative_load_hardening", None), architectures=("x86_64", "i386", "i686")
    ),
}

_DISTANCES = "it also decides which distances between accesses are safe, and the metadata does not"
_LOOPS = "passes make loops without metadata and drop it from loops, and the option counts for those, too"
NOT_EXACT: Final[dict[str, str]] = {
    "unroll-count": (
        f"llvm.loop.unroll.count has a size limit of its own, and unrolls at run time; {_LOOPS}"
    ),
    "unroll-runtime": _LOOPS,
    "force-vector-width": f"{_DISTANCES}; {_LOOPS}",
    "force-vector-interleave": f"{_DISTANCES}; {_LOOPS}",
    "enable-loop-distribute": (f"llvm.loop.distribute.enable also allows more checks at run time; {_LOOPS}"),
    "prefer-predicate-over-epilogue": _LOOPS,
    "pipeliner-force-ii": _LOOPS,
    "unroll-and-jam-count": f"llvm.loop.unroll_and_jam.count has a limit of its own; {_LOOPS}",
    "inline-threshold": "function-inline-threshold ignores that a call is hot or cold",
    "align-all-functions": "the alignment of a function can only raise what its target prefers",
    "aarch64-sve-vector-bits-min": "vscale_range also tells passes that do not read the option",
    "aarch64-sve-vector-bits-max": "vscale_range also tells passes that do not read the option",
    "riscv-v-vector-bits-min": "vscale_range also tells passes that do not read the option",
    "riscv-v-vector-bits-max": "vscale_range also tells passes that do not read the option",
    "x86-indirect-branch-tracking": (
        "cf-protection-branch also marks the object file and the jumps through tables"
    ),
    "aarch64-ptrauth-auth-checks": "it counts on processors with FPAC, and ptrauth-auth-traps does not",
    "force-streaming": "aarch64_pstate_sm_enabled also changes how functions are called",
    "force-streaming-compatible": "aarch64_pstate_sm_compatible also changes how functions are called",
    **dict.fromkeys(
        (
            "amdgpu-sgpr-hazard-wait",
            "amdgpu-sgpr-hazard-boundary-cull",
            "amdgpu-sgpr-hazard-mem-wait-cull",
            "amdgpu-sgpr-hazard-mem-wait-cull-threshold",
        ),
        "LLVM has attributes of these names, and no test has shown that they do the same",
    ),
    "enable-vfe": "linking would bring the module flag of another module back",
}
