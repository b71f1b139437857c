"""Which compilations wait for one another: only those that share a native object.

An LLVMContext and everything in it may be used by one thread at a time, and so may a TargetMachine. Each has
a reentrant lock, found by its address (native/compile/keyed_locks.hpp); modules in separate contexts with
separate target machines never meet.
"""

from __future__ import annotations

from typing import Any

from optctx.errors import OptctxError
from optctx.passes.native_api import NativeApi

__all__ = ["llvmlite_lock", "raise_errors"]


def llvmlite_lock(api: NativeApi, context: int) -> Any:
    """llvmlite's own lock, for LLVM's global context: every user of llvmlite works in it. Else None.

    Do not compile in the global context from a callback that llvmlite runs under its lock.
    """
    if context != api.global_context():
        return None
    from llvmlite.binding import ffi  # importing optctx works without llvmlite

    return ffi.lib._lock


def raise_errors(errors: list[bytes]) -> None:
    """Raises OptctxError with what LLVM says of the code, if it says anything."""
    if errors:
        words = (" ".join(each.decode(errors="replace").split()) for each in errors)
        raise OptctxError("LLVM refuses the module: " + "; ".join(words))
