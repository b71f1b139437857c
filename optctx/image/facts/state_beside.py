"""Variables of LLVM that option values pass through on their way to its code."""

from __future__ import annotations

from typing import Final

__all__ = ["DEFAULTS", "ONCE", "PLAIN"]

_REGISTRY = "_ZN4llvm20RegisterRegAllocBaseI{}E8RegistryE"
_FLAG = "_ZN12_GLOBAL__N_1L{}InitializeDefault{}RegisterAllocatorFlagE"
_PROFILE = "_ZN4llvm10sampleprof15FunctionSamples{}E"

# Name of the variable -> options that it serves: they cannot be scoped unless the variable is.
# MachinePassRegistry is {list of passes, default, listener}: the default is copied from the option at the
# first compilation, under a once_flag.
DEFAULTS: Final = {
    "_ZN4llvm17RegisterScheduler8RegistryE": ("pre-RA-sched",),
    _REGISTRY.format("NS_16RegisterRegAllocE"): ("regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_120SGPRRegisterRegAllocE"): ("sgpr-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_120VGPRRegisterRegAllocE"): ("vgpr-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_119WWMRegisterRegAllocE"): ("wwm-regalloc",),
    _REGISTRY.format("N12_GLOBAL__N_119RVVRegisterRegAllocE"): ("riscv-rvv-regalloc",),
}
ONCE: Final = {
    "_ZL38InitializeDefaultRegisterAllocatorFlag": ("regalloc",),
    _FLAG.format(42, "SGPR"): ("sgpr-regalloc",),
    _FLAG.format(42, "VGPR"): ("vgpr-regalloc",),
    _FLAG.format(41, "WWM"): ("wwm-regalloc",),
    _FLAG.format(41, "RVV"): ("riscv-rvv-regalloc",),
}
# Plain variables. What the reader of a sample profile says of it, for the passes that use the profile:
PLAIN: Final = (
    _PROFILE.format("11ProfileIsCS"),
    _PROFILE.format("11ProfileIsFS"),
    _PROFILE.format("13HasUniqSuffix"),
    _PROFILE.format("19ProfileIsPreInlined"),
    _PROFILE.format("19ProfileIsProbeBased"),
    _PROFILE.format("6UseMD5"),
    # Taken from the first subtarget of the process; what it is decides about waits in AMDGPU code.
    "_ZZN4llvm6AMDGPU6DepCtr24getDefaultDepCtrEncodingERKNS_15MCSubtargetInfoEE7Default",
    # Up to LLVM 21: numbers the calls in PTX from the start of the process.
    "_ZL20GlobalUniqueCallSite",
)
