"""Locks for compilations: only those that share a native object wait for one another.

Only one thread at a time may use an LLVMContext and what is in it, or a TargetMachine. Each of them has a
reentrant lock, found by its address (native/compile/keyed_locks.hpp). Modules in separate LLVMContexts, with
separate target machines, never wait for each other.
"""

from __future__ import annotations

from typing import Any

from optctx.errors import OptctxError
from optctx.passes.native_api import NativeApi

__all__ = ["llvmlite_lock", "raise_errors"]


def llvmlite_lock(api: NativeApi, context: int) -> Any:
    """llvmlite's own lock for LLVM's global LLVMContext, which every user of llvmlite shares. Else None.

    Do not compile in the global LLVMContext from a callback that llvmlite runs under its lock.
    """
    if context != api.global_context():
        return None
    from llvmlite.binding import ffi  # importing optctx works without llvmlite

    return ffi.lib._lock


def raise_errors(errors: list[bytes]) -> None:
    """Raise OptctxError with the errors that LLVM reported for the module, if any."""
    if errors:
        words = (" ".join(each.decode(errors="replace").split()) for each in errors)
        raise OptctxError("LLVM refuses the module: " + "; ".join(words))
