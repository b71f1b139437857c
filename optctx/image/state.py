"""Storage besides the options themselves that option values pass through on their way to LLVM's code."""

from __future__ import annotations

from dataclasses import dataclass

from optctx._native import Image

__all__ = ["State", "find_state"]

_POINTER = 8  # bytes


@dataclass(frozen=True)
class State:
    """A variable of LLVM's into which compilations copy what options say.

    From byte `initial_at` on, `initial` is what it holds before anything has run. `serves`: options that
    cannot be scoped unless this variable is.
    """

    address: int
    size: int
    initial_at: int
    initial: bytes
    serves: tuple[str, ...]


_REGISTRY = "_ZN4llvm20RegisterRegAllocBaseI{}E8RegistryE"
_FLAG = "_ZN12_GLOBAL__N_1L{}InitializeDefault{}RegisterAllocatorFlagE"

# Name of the variable -> options that it serves. MachinePassRegistry is {list of passes, default,
# listener}: the default is copied from the option at the first compilation, under a once_flag.
_DEFAULTS = {
    "_ZN4llvm17RegisterScheduler8RegistryE": ("pre-RA-sched",),
    _REGISTRY.format("NS_16RegisterRegAllocE"): ("regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_120SGPRRegisterRegAllocE"): ("sgpr-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_120VGPRRegisterRegAllocE"): ("vgpr-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_119WWMRegisterRegAllocE"): ("wwm-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_119RVVRegisterRegAllocE"): ("riscv-rvv-regalloc",),
}
_ONCE = {
    "_ZL38InitializeDefaultRegisterAllocatorFlag": ("regalloc",),
    _FLAG.format(42, "SGPR"): ("sgpr-regalloc",),
    _FLAG.format(42, "VGPR"): ("vgpr-regalloc",),
    _FLAG.format(41, "WWM"): ("wwm-regalloc",),
    _FLAG.format(41, "RVV"): ("riscv-rvv-regalloc",),
}
# Plain variables. What the reader of a sample profile says of it, for the passes that use the profile:
_PROFILE = "_ZN4llvm10sampleprof15FunctionSamples{}E"
_PLAIN = (
    _PROFILE.format("11ProfileIsCS"),
    _PROFILE.format("11ProfileIsFS"),
    _PROFILE.format("13HasUniqSuffix"),
    _PROFILE.format("19ProfileIsPreInlined"),
    _PROFILE.format("19ProfileIsProbeBased"),
    _PROFILE.format("6UseMD5"),
    # Taken from the first subtarget of the process; what it is decides about waits in AMDGPU code.
    "_ZZN4llvm6AMDGPU6DepCtr24getDefaultDepCtrEncodingERKNS_15MCSubtargetInfoEE7Default",
)


def find_state(image: Image) -> tuple[list[State], set[str]]:
    """(the variables found, names of options that lack one of theirs)."""
    found: list[State] = []
    missing: set[str] = set()
    whole: list[tuple[str, tuple[str, ...]]] = [*_ONCE.items(), *((name, ()) for name in _PLAIN)]
    parts = [(name, serves, _POINTER, _POINTER) for name, serves in _DEFAULTS.items()]
    for name, serves, at, size in [*parts, *((name, serves, 0, 0) for name, serves in whole)]:
        address = image.symbol(name)
        symbol = image.object_at(address) if address is not None else None
        if symbol is None or symbol.address != address:
            missing.update(serves)
            continue
        initial = image.initial_bytes(symbol.address + at, size or symbol.size)
        found.append(State(symbol.address, symbol.size, at, initial, serves))
    return found, missing
