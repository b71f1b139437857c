"""What was found wrong while LLVM was running is raised by the call that made it run.

Interceptors run inside LLVM, where nothing can be raised. They leave the problem here, for their thread; the
next optctx function to return raises it, or llvmlite's own: its functions that run LLVM get a ctypes
`errcheck` when optctx attaches.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any

from optctx.engine.attach import when_attached
from optctx.image.freeing import order_arguments, order_freeing

__all__ = ["forget_problems", "raise_problems", "tell", "when_returning"]

# llvmlite's functions that run passes, emit, compile, or ask for a layout, and the one that sets options.
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
# From `warnings.warn` to the caller of llvmlite's method: here, the errcheck, llvmlite's wrapper, its method.
_LLVMLITE_LEVEL = 5


class _Problems(threading.local):
    def __init__(self) -> None:
        self.found: list[BaseException] = []


_problems = _Problems()
_listeners: list[Callable[[], None]] = []


def tell(problem: BaseException) -> None:
    """Leaves a problem of this thread for the enclosing call; also what a signal handler raised in LLVM."""
    _problems.found.append(problem)


def raise_problems(stacklevel: int = 3) -> None:
    """Warns of this thread's warnings and raises its first error; both are forgotten then."""
    found, _problems.found = _problems.found, []
    problem = None
    try:
        for problem in found:
            if isinstance(problem, Warning):
                warnings.warn(problem, stacklevel=stacklevel)
        for problem in found:
            if not isinstance(problem, Warning):
                raise problem
    finally:  # an error that a frame of its own traceback holds keeps the caller's module and LLVMContext
        del found, problem
    for listener in _listeners:
        listener()


def forget_problems() -> None:
    """For a call that begins: what is here was left by one that an exception interrupted."""
    _problems.found.clear()


def when_returning(listener: Callable[[], None]) -> None:
    """Has the listener called, from now on, where such a call returns; it may raise for its caller."""
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
        raise_problems(_LLVMLITE_LEVEL)
    return result


when_attached(_arm)
