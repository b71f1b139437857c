"""Makes a target machine of llvmlite's from the keys of a target."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from optctx.compiling import check_target, target_of
from optctx.errors import OptctxError, TargetError, shown
from optctx.tvm.options import UnknownMode, warn

if TYPE_CHECKING:
    from llvmlite.binding import Target as BackEnd
    from llvmlite.binding import TargetMachine

GENERIC, _NATIVE = "generic", "native"

# Triples for which LLVM accepts the processor "generic", so they need no trial.
_WELL_KNOWN = re.compile(r"(x86_64|i[36]86|aarch64|armv\w+)(-\w+)?-linux(-(gnu|musl)(eabi(hf)?)?)?")
# If an ABI does not fit, LLVM prints a message, ignores it, or ends the process.
# Prefix of a triple -> ABI that LLVM accepts for it -> the feature that the ABI needs, if any.
_ABIS = {
    "riscv32": {"ilp32": "", "ilp32e": "", "ilp32f": "+f", "ilp32d": "+d"},
    "riscv64": {"lp64": "", "lp64e": "", "lp64f": "+f", "lp64d": "+d"},
    "arm": {"aapcs": "", "aapcs-linux": "", "apcs-gnu": ""},
    "powerpc64": {"elfv1": "", "elfv2": ""},
}
_SOFT_ENVIRONMENTS = ("eabi", "gnueabi", "musleabi")


def process_triple() -> str:
    """The triple of this process."""
    from llvmlite import binding  # importing optctx works without llvmlite, here and below

    return str(binding.get_process_triple())


def back_end(triple: str) -> BackEnd:
    """LLVM's back end for a triple. Raises TargetError if there is none."""
    try:
        return target_of(triple)
    except OptctxError as error:
        raise TargetError(f"cannot use mtriple {shown(triple)}: {error}") from None


def architecture(triple: str) -> str:
    """The first part of a triple."""
    return triple.partition("-")[0]


def names_architecture(triple: str) -> bool:
    """Whether a triple names an architecture. llvmlite writes "unknown" for a module that names none."""
    return architecture(triple) not in ("", "unknown")


def accepted_cpu(triple: str, cpu: str, features: str, unknown: UnknownMode) -> str:
    """The processor to compile for: `cpu`, or "generic" with a warning for one that LLVM does not know.

    A target with more than a well-known triple is tried once in a fresh process, because LLVM prints a
    message about a name that it does not know, or ends the process. Raises TargetError.
    """
    if cpu == GENERIC and not features and _WELL_KNOWN.fullmatch(triple):
        return cpu
    _check_names(cpu, features)
    try:
        if cpu == _NATIVE:  # which jobs have a meaning for, and LLVM has not
            raise OptctxError("LLVM has no processor 'native'; name it: binding.get_host_cpu_name()")
        check_target(triple, cpu, features)
    except OptctxError as error:
        if unknown == "error" or cpu == GENERIC:
            raise TargetError(f"cannot make a target machine for {shown(triple)}: {error}") from None
        said = str(error)
    else:
        return cpu
    accepted = accepted_cpu(triple, GENERIC, features, unknown)
    warn(f"{said}; the target uses mcpu {GENERIC!r}")
    return accepted


def _check_names(cpu: str, features: str) -> None:
    """Raise TargetError for names for which LLVM would abort or print lists."""
    if cpu == "help" or {"help", "cpuhelp"} & {feature.lstrip("+-") for feature in features.split(",")}:
        raise TargetError(
            "cannot compile for 'help': LLVM prints lists for it; name a processor or a feature"
        )
    for feature in filter(None, features.split(",")):
        if feature[0] not in "+-":
            raise TargetError(
                f"mattr: expected +{feature} to turn {feature} on, or -{feature} to turn it off, found "
                f"{shown(feature)}"
            )


def make_machine(triple: str, cpu: str, features: str, level: int, abi: str) -> TargetMachine:
    """A target machine with TVM's relocation and code models. Raises TargetError."""
    model = "medium" if architecture(triple).startswith("riscv") else "small"
    try:
        return back_end(triple).create_target_machine(
            cpu, features, opt=level, reloc="pic", codemodel=model, abiname=abi
        )
    except RuntimeError as error:
        raise TargetError(f"no target machine for {shown(triple)}: {error}") from None


def check_abi(triple: str, features: Sequence[str], abi: str) -> None:
    """Raise TargetError for an ABI (`mabi`) that LLVM does not accept for the triple and the features."""
    known = next((abis for start, abis in _ABIS.items() if triple.startswith(start)), None)
    if known is None:
        raise TargetError(f"cannot use mabi {shown(abi)}: {shown(triple)} has one ABI; leave mabi out")
    if abi not in known:
        raise TargetError(f"mabi: expected one of {', '.join(known)} for {shown(triple)}, found {shown(abi)}")
    if known[abi] and known[abi] not in features:
        raise TargetError(f"cannot use mabi {shown(abi)} without its feature: add {known[abi]} to mattr")


def check_float_abi(triple: str, abi: str) -> None:
    """Raise TargetError for a float ABI other than the triple's, because llvmlite supports no other."""
    if abi not in ("hard", "soft"):
        raise TargetError(f'mfloat-abi: expected "hard" or "soft", found {shown(abi)}')
    environment = triple.rpartition("-")[2]
    own = ""
    if triple.startswith(("arm", "thumb")):
        own = (
            "hard" if environment.endswith("eabihf") else "soft" if environment in _SOFT_ENVIRONMENTS else ""
        )
    if abi != own:
        raise TargetError(
            f"cannot make a target machine with mfloat-abi {shown(abi)} for {shown(triple)}: a machine of "
            "llvmlite's has the float ABI of its triple; leave mfloat-abi out, or write an mtriple that says "
            "it: 'armv7a-linux-gnueabihf' is hard, 'armv7a-linux-gnueabi' is soft"
        )
