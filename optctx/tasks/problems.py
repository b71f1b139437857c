"""Problems found while LLVM runs, raised by the call that ran it.

Interceptors run inside LLVM, where no exception can be raised. They leave the problem here for their thread.
The next function of optctx, or of the host's that runs LLVM, to return raises it.
"""

from __future__ import annotations

import itertools
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeAlias

from optctx._native import report_unraisable
from optctx.engine.attach import engine_of
from optctx.engine.host import host_of
from optctx.errors import level_outside

# Where a warning belongs, as `warnings.warn_explicit` takes it: (file, line, module, registry).
_Place: TypeAlias = tuple[str, int, str, dict[Any, Any]]
_Problem: TypeAlias = tuple[BaseException, _Place | None]


class _Problems(threading.local):
    def __init__(self) -> None:
        self.found: list[_Problem] = []
        self.calls = 0  # nested, of those that raise what LLVM's work leaves, whatever their host does


_problems = _Problems()


def place_of(frame: FrameType) -> _Place:
    """Return the place of a frame, as `warnings.warn` finds it."""
    names = frame.f_globals
    registry = names.setdefault("__warningregistry__", {})
    return frame.f_code.co_filename, frame.f_lineno, names.get("__name__", "<string>"), registry


def tell(problem: BaseException, place: _Place | None = None) -> None:
    """Leave a problem, or what a signal handler raised inside LLVM, to the enclosing call on this thread.

    `place`: where a warning belongs, if not where that call is made.
    """
    _problems.found.append((problem, place))


def tell_of(image: int, problem: BaseException) -> None:
    """Leave a problem of an image. If no call into it can raise the problem, `sys.unraisablehook` gets it."""
    if _problems.calls or host_of(engine_of(image).image).reports_calls:
        tell(problem)
    else:
        report_unraisable(problem, tell_of)


@contextmanager
def raising_problems() -> Iterator[None]:
    """Raise at the end what LLVM's work inside leaves, for a host that does not report its calls."""
    _problems.calls += 1
    try:
        yield
    except BaseException:
        forget_problems()
        raise
    finally:
        _problems.calls -= 1
    raise_problems("contextlib")


def raise_problems(*between: str) -> None:
    """Issue this thread's warnings, raise its first error, and forget both.

    `between`: packages that may lie between the program, whose warnings they are, and optctx.
    """
    if not _problems.found:
        return
    stacklevel = level_outside(*between)
    found, _problems.found = _problems.found, []
    problem: BaseException | None = None
    try:
        for problem, place in filter(_is_warning, found):
            _issue(problem, place, stacklevel + 1)
        for problem, _ in itertools.filterfalse(_is_warning, found):
            raise problem
    finally:  # else the error and this frame form a cycle, which keeps the caller's module and LLVMContext
        del found, problem


def _is_warning(found: _Problem) -> bool:
    return isinstance(found[0], Warning)


def _issue(problem: BaseException, place: _Place | None, stacklevel: int) -> None:
    assert isinstance(problem, Warning)
    try:
        if place is None:
            warnings.warn(problem, stacklevel=stacklevel)
        else:
            warnings.warn_explicit(problem, type(problem), *place)
    finally:  # as above, where warnings are errors
        del problem


def forget_problems() -> None:
    """Forget, as a call begins, the problems of an earlier call that an exception interrupted."""
    _problems.found.clear()
