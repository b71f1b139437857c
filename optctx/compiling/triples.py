"""Finds the target for a triple, or suggests triples if LLVM does not know it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optctx.errors import OptctxError, clipped, shown
from optctx.wording import did_you_mean, nearest

if TYPE_CHECKING:
    from llvmlite.binding import Target

__all__ = ["target_of"]

# Architectures that triples begin with. LLVM is asked which of them it knows.
_ARCHITECTURES = (
    "x86_64",
    "i386",
    "i686",
    "aarch64",
    "aarch64_be",
    "arm",
    "armv7",
    "armeb",
    "thumb",
    "riscv32",
    "riscv64",
    "powerpc",
    "powerpc64",
    "powerpc64le",
    "mips",
    "mipsel",
    "mips64",
    "mips64el",
    "sparc",
    "sparcv9",
    "s390x",
    "wasm32",
    "wasm64",
    "hexagon",
    "amdgcn",
    "r600",
    "nvptx",
    "nvptx64",
    "bpf",
    "avr",
    "msp430",
    "lanai",
    "loongarch32",
    "loongarch64",
    "xcore",
    "ve",
    "m68k",
    "arc",
    "csky",
    "spirv32",
    "spirv64",
    "dxil",
)


def target_of(triple: str) -> Target:
    """LLVM's target for a triple. Raises OptctxError, with the nearest architectures, if there is none."""
    from llvmlite import binding  # importing optctx works without llvmlite

    try:
        return binding.Target.from_triple(triple)
    except RuntimeError as error:
        architecture = triple.partition("-")[0]
        known = [name for name in _ARCHITECTURES if _is_known(name)]
        words = clipped(" ".join(str(error).split()))
        if architecture not in known:
            near = did_you_mean(nearest(architecture, known)) or f"LLVM knows {', '.join(known)}"
            words = f"LLVM has no target called {shown(architecture)}; {near}"
        raise OptctxError(f"no target machine for {shown(triple)}: {words}") from None


def _is_known(architecture: str) -> bool:
    from llvmlite import binding

    try:
        binding.Target.from_triple(architecture)
    except RuntimeError:
        return False
    return True
