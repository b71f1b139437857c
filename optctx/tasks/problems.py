"""Problems found while LLVM runs, raised by the call that ran it.

Interceptors run inside LLVM, where no exception can be raised. They leave the problem here for their thread.
The next function of optctx or llvmlite to return raises it: attaching gives llvmlite's functions that run
LLVM a ctypes `errcheck`.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Callable
from typing import Any, TypeGuard

from optctx.engine.attach import when_attached
from optctx.errors import level_outside
from optctx.hosts.llvmlite.lifetimes import order_arguments, order_freeing

__all__ = ["forget_problems", "raise_problems", "tell", "when_returning"]

# llvmlite's functions that run passes, emit, compile, make a data layout, or set options.
_FUNCTIONS = (
    "LLVMPY_SetCommandLine",
    "LLVMPY_RunNewModulePassManager",
    "LLVMPY_RunNewFunctionPassManager",
    "LLVMPY_TargetMachineEmitToMemory",
    "LLVMPY_CreateTargetMachineData",
    "LLVMPY_FinalizeObject",
    "LLVMPY_GetFunctionAddress",
    "LLVMPY_LLJIT_Link",
    "LLVMPY_LLJITLookup",
)


class _Problems(threading.local):
    def __init__(self) -> None:
        self.found: list[BaseException] = []


_problems = _Problems()
_listeners: list[Callable[[], None]] = []


def tell(problem: BaseException) -> None:
    """Leave a problem, or what a signal handler raised inside LLVM, to the enclosing call on this thread."""
    _problems.found.append(problem)


def _is_warning(problem: BaseException) -> TypeGuard[Warning]:
    return isinstance(problem, Warning)


def raise_problems(stacklevel: int = 3) -> None:
    """Issue this thread's warnings, raise its first error, forget both. Without an error, call listeners."""
    found, _problems.found = _problems.found, []
    problem: BaseException | None = None
    try:
        for problem in filter(_is_warning, found):
            warnings.warn(problem, stacklevel=stacklevel)
        for problem in itertools.filterfalse(_is_warning, found):
            raise problem
    finally:  # else the error and this frame form a cycle, which keeps the caller's module and LLVMContext
        del found, problem
    for listener in _listeners:
        listener()


def forget_problems() -> None:
    """Forget, as a call begins, the problems of an earlier call that an exception interrupted."""
    _problems.found.clear()


def when_returning(listener: Callable[[], None]) -> None:
    """Call the listener, from now on, whenever such a call returns. The call raises its errors."""
    if listener not in _listeners:
        _listeners.append(listener)


def _arm() -> None:
    from llvmlite.binding import ffi

    for name in _FUNCTIONS:
        getattr(ffi.lib, name)._cfn.errcheck = _check
    order_freeing()


def _check(result: Any, _function: object, arguments: tuple[object, ...]) -> Any:
    order_arguments(arguments)
    if _problems.found or _listeners:
        raise_problems(level_outside("llvmlite") + 1)
    return result


when_attached(_arm)
