"""The ABIs that a target may name.

If an ABI does not fit, LLVM prints a message, ignores it, or ends the process.
"""

from __future__ import annotations

from collections.abc import Sequence

from optctx.errors import TargetError, shown

__all__ = ["check_abi", "check_float_abi"]

# Prefix of a triple -> ABI that LLVM accepts for it -> the feature that the ABI needs, if any.
_ABIS = {
    "riscv32": {"ilp32": "", "ilp32e": "", "ilp32f": "+f", "ilp32d": "+d"},
    "riscv64": {"lp64": "", "lp64e": "", "lp64f": "+f", "lp64d": "+d"},
    "arm": {"aapcs": "", "aapcs-linux": "", "apcs-gnu": ""},
    "powerpc64": {"elfv1": "", "elfv2": ""},
}
_SOFT_ENVIRONMENTS = ("eabi", "gnueabi", "musleabi")


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
