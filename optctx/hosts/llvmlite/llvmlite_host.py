"""llvmlite as a host: what optctx asks it, and what it hooks into llvmlite when it attaches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from optctx.errors import UnsupportedImageError, level_outside
from optctx.hosts.llvmlite.ffi_calls import llvmlite_lock
from optctx.hosts.llvmlite.library import is_llvmlites, llvmlite_image, unproven
from optctx.hosts.llvmlite.lifetimes import order_arguments, order_freeing
from optctx.hosts.llvmlite.objects import llvm_context_address, module_address
from optctx.image.facts.interceptions import Interception
from optctx.image.loaded import Image
from optctx.tasks.problems import anything_left, raise_problems

__all__ = ["LLVMLITE"]

# Its functions that run passes, emit, compile, make a data layout, or set options.
_RUNS_LLVM = (
    "LLVMPY_SetCommandLine",
    "LLVMPY_RunNewModulePassManager",
    "LLVMPY_RunNewFunctionPassManager",
    "LLVMPY_TargetMachineEmitToMemory",
    "LLVMPY_CreateTargetMachineData",
    "LLVMPY_FinalizeObject",
    "LLVMPY_GetFunctionAddress",
    "LLVMPY_GetGlobalValueAddress",
    "LLVMPY_RunStaticConstructors",
    "LLVMPY_RunStaticDestructors",
    "LLVMPY_LLJIT_Link",
    "LLVMPY_LLJITLookup",
)


class _Llvmlite:
    """See optctx/engine/host.py."""

    package = "llvmlite"
    reports_calls = True
    between = frozenset({package, "numba"})

    def image(self) -> Image:
        return llvmlite_image()

    def has(self, image: Image) -> bool:
        return is_llvmlites(image)

    def refusal(self, reason: UnsupportedImageError) -> UnsupportedImageError:
        return unproven(reason)

    def interceptions(self) -> Sequence[Interception]:
        from optctx.hosts.llvmlite import lljit  # importing optctx takes a twentieth less time

        return lljit.INTERCEPTIONS

    def llvm_context_address(self, llvm_context: object) -> int:
        return llvm_context_address(llvm_context)

    def module_address(self, module: object) -> int:
        return module_address(module)

    def lock(self) -> AbstractContextManager[object]:
        lock: AbstractContextManager[object] = llvmlite_lock()
        return lock

    def attaching(self) -> None:
        from llvmlite.binding import ffi  # importing optctx works without llvmlite

        from optctx.hosts.llvmlite import lljit, manager_runs  # importing optctx takes a twentieth less time

        for name in _RUNS_LLVM:
            getattr(ffi.lib, name)._cfn.errcheck = _returns
        order_freeing()
        lljit.arm()
        manager_runs.arm()

    def follow_calls(self, begin_and_end: tuple[Callable[[], None], Callable[[], None]]) -> None:
        lock = llvmlite_lock()
        if begin_and_end not in lock._cblist:
            lock._cblist.append(begin_and_end)


def _returns(result: Any, _: object, arguments: tuple[object, ...]) -> Any:
    """Raise the problems that LLVM's work has left, as a call that has run LLVM returns."""
    order_arguments(arguments)
    if anything_left():
        raise_problems(level_outside(LLVMLITE.package) + 1)
    return result


LLVMLITE = _Llvmlite()
