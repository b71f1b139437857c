"""Refuse releases of llvmlite that are too old by their version, before any of their memory is read.

No layout is derived from a version: every other release has to prove its own.
"""

from __future__ import annotations

import importlib.util
import re

from optctx.errors import UnsupportedImageError

__all__ = ["INSTALL", "check_release", "unproven"]

_EARLIEST_LLVM = 15  # llvmlite cannot run pipelines from text with an earlier one
_FIRST, _LAST = (0, 44), (0, 50)  # releases of llvmlite that were tried
_NEEDED = "optctx needs llvmlite 0.44 to 0.50, which Numba 0.61 to 0.68 require"
INSTALL = "pip install 'llvmlite>=0.44,<0.51'"
_INSTALL_NUMBA = "pip install 'numba>=0.61,<0.69'"


def check_release() -> None:
    """Import llvmlite, and raise UnsupportedImageError if its LLVM is too old."""
    from llvmlite import binding

    if binding.llvm_version_info[0] < _EARLIEST_LLVM:
        raise UnsupportedImageError(f"{_release()} is not supported: {_advice()}")


def _release() -> str:
    """Such as "llvmlite 0.50.0 (LLVM 22.1)"."""
    import llvmlite
    from llvmlite import binding

    llvm = ".".join(map(str, binding.llvm_version_info[:2]))
    return f"llvmlite {llvmlite.__version__} (LLVM {llvm})"


def _advice() -> str:
    """What optctx needs, and the command that installs it."""
    command = _INSTALL_NUMBA if importlib.util.find_spec("numba") else INSTALL
    return f"{_NEEDED}. Run: {command}"


def unproven(reason: UnsupportedImageError) -> UnsupportedImageError:
    """The error for the llvmlite that is installed, whose layout did not check out."""
    if _is_tried():
        return UnsupportedImageError(f"{_release()} cannot be used, nothing was changed: {reason}")
    return UnsupportedImageError(f"{_release()} is not supported ({reason}): {_advice()}")


def _is_tried() -> bool:
    import llvmlite

    numbers = tuple(int(number) for number in re.findall(r"\d+", llvmlite.__version__)[:2])
    return _FIRST <= numbers <= _LAST
