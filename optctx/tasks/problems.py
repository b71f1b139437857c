"""Problems found while LLVM runs, raised by the call that ran it.

Interceptors run inside LLVM, where no exception can be raised. They leave the problem here for their thread.
The next function of optctx, or of the host's that runs LLVM, to return raises it.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Callable
from typing import TypeGuard

from optctx.engine.host import host_of
from optctx.image.loaded import Image

__all__ = ["anything_left", "forget_problems", "raise_problems", "tell", "tell_of", "when_returning"]


class _Problems(threading.local):
    def __init__(self) -> None:
        self.found: list[BaseException] = []


_problems = _Problems()
_listeners: list[Callable[[], None]] = []


def tell(problem: BaseException) -> None:
    """Leave a problem, or what a signal handler raised inside LLVM, to the enclosing call on this thread."""
    _problems.found.append(problem)


def tell_of(image: Image, problem: BaseException) -> None:
    """Leave a problem of an image. If no call into it can raise the problem, `sys.unraisablehook` gets it."""
    if host_of(image).reports_calls:
        tell(problem)
    else:
        _Unraised(problem)


class _Unraised:
    """What its finaliser raises goes to `sys.unraisablehook`, at once."""

    def __init__(self, problem: BaseException) -> None:
        self.problem = problem

    def __del__(self) -> None:
        raise self.problem


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


def anything_left() -> bool:
    """Tell whether `raise_problems` has anything to do on this thread."""
    return bool(_problems.found or _listeners)
