"""`lower` writes options into a module, where LLVM has an exact equivalent for them.

Each row of the table is what the only function that reads the option does with the attribute or flag.
`make conformance` judges the rows on LLVM's own tests (`evidence/conformance/lowered.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal, NamedTuple

from optctx.context import OptionContext
from optctx.errors import OptctxError, OptionTypeError, shown
from optctx.image.loaded import Image
from optctx.travelling.module_attributes import (
    Change,
    FunctionAttribute,
    ModuleFlag,
    apply_changes,
    read_attributes,
    triple_of,
)
from optctx.travelling.stamps import called, module_label
from optctx.values.read_values import Value
from optctx.wording import first_few

_NONE = "nothing in a module says the same"
_DRIFTED = "it is set for the whole process, too, which would count again"
_PLAIN: Final = re.compile(rb"0|[1-9][0-9]{0,8}")  # what every reader of a number takes as the same number


def lower(ctx: OptionContext, module: object, *, strict: bool = False) -> OptionContext:
    """Write options of a context into a module, as attributes of its functions and flags; return the rest.

    Only options are written for which LLVM has an exact equivalent: compiled under the returned context, the
    module gives the output that it gave under `ctx`, with any passes. If the returned context changes nothing
    (`not rest.overrides`), LLVM needs no option any more, in optctx or out of it. Where the module says
    something already, what LLVM would take is kept: for most options the attribute, for a few the option. Set
    the module's triple first. Functions that are added later, by linking or by passes that make some from
    nothing, such as the constructors of sanitizers, do not have the attributes.

    Reaches only the module. During the call, no other thread may use its LLVMContext except through llvmlite.

    Args:
        ctx: The options. Unchanged.
        module: A module of the context's LLVM, as in `OptionContext.from_module`. Changed in place.
        strict: Raise an error if an option stays.

    Returns: A context with the other options. `ctx` itself, if nothing was lowered.

    Raises:
        TypeError: `module` is not a module.
        OptionTypeError: `ctx` is not an OptionContext.
        OptctxError: The module is closed, or with `strict` an option stays; the message says why.
        UnsupportedImageError: The library lacks a function that this needs.

    On each error the module is unchanged. An exception that interrupts the call, such as KeyboardInterrupt,
    leaves it unchanged or with all options written.
    """
    if not isinstance(ctx, OptionContext):
        raise OptionTypeError(f"the options to lower are an OptionContext, found {shown(ctx)}")
    layers = ctx._layers
    image = layers.engine.image
    triple = triple_of(image, module)
    drifted = {option.name for option, _ in layers.engine.drifted(layers.drift)}
    changes: dict[str, Change | None] = {}
    stays: dict[str, str] = {}
    for name in sorted(layers.names()):
        found = _DRIFTED if name in drifted else _change(image, module, triple, name, layers.look_up(name))
        if isinstance(found, str):
            stays[name] = found
        else:
            changes[name] = found
    if strict and stays:
        words = [f"{name!r} ({reason})" for name, reason in stays.items()]
        raise OptctxError(
            f"cannot write all options into {called(module_label(image, module))}: "
            f"{first_few(words)}; call lower without strict, and compile under the context "
            "that it returns"
        )
    rest = ctx._without(changes) if changes else ctx  # first: what fails changes nothing
    apply_changes(image, module, [change for change in changes.values() if change is not None])
    return rest


def _change(image: Image, module: object, triple: str, name: str, value: Value) -> Change | str | None:
    """Return the change of the module that says what an option says, or why there is none."""
    row = EQUIVALENTS.get(name)
    if row is None:
        return NOT_EXACT.get(name, _NONE)
    if row.architectures and not triple.startswith(row.architectures):
        known = " and ".join(row.architectures)
        return f"the attribute says the same for {known} alone, and the module's triple is {shown(triple)}"
    if isinstance(value, int) and value > row.most:
        return f"a module says at most {row.most:,}, and it is {value:,}"
    change = row.make(value)
    if isinstance(change, FunctionAttribute) and (bad := _unclear(image, module, row, change)):
        return bad
    return change


def _unclear(image: Image, module: object, row: Equivalent, change: FunctionAttribute) -> str:
    """Say which attribute that stays would not be read as the number that it says; empty if none."""
    if not row.number:
        return ""
    bad = [each for each in read_attributes(image, module, change.name) if not _PLAIN.fullmatch(each)]
    if not bad:
        return ""
    found = shown(min(bad).decode(errors="backslashreplace"))
    return f"a function has {change.name}={found}, and expected was a number in plain digits"


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
