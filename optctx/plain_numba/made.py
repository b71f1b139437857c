"""Under which values each of Numba's code libraries was made, and what LLVM read for it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.runtime.nrtdynmod import compile_nrt_functions

from optctx.engine.attach import attached
from optctx.plain_numba.entries import Reads, Values, outside, values_here

_MADE = "_optctx_made"  # the attribute of a library


class _Made(NamedTuple):
    """Work of LLVM's for a library.

    `values`: None outside scopes. `reads`: None stands for all options. `disturbed`: done outside, perhaps
    under values of a scope.
    """

    values: Values | None
    reads: Reads | None = None
    disturbed: bool = False


class _Thread(threading.local):
    """The innermost compilation of this thread in a scope. An exception at its end may leave it here."""

    values: Values | None = None
    reads: Reads | None = None

    @property
    def is_recording(self) -> bool:
        return self.reads is not None and self.reads.is_open


_OUTSIDE = _Made(None)
_thread = _Thread()
_runtimes: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()  # by values, "" outside


@contextmanager
def compiling(records: bool) -> Iterator[None]:
    """A block in which Numba compiles a function.

    In a scope its values are worked out once for the block. If it `records`, so do the blocks in it: for the
    function as a whole, and for each library that is made for it.
    """
    values = values_here(_thread.values)
    if values is None:
        yield
        return
    outer = _thread.values, _thread.reads
    reads = Reads() if records else _thread.reads
    try:
        with reads.recorded() if reads is not None and records else nullcontext():
            _thread.values, _thread.reads = values, reads
            yield
    finally:
        _thread.values, _thread.reads = outer


@contextmanager
def making(library: Any) -> Iterator[None]:
    """A block in which LLVM works for the library."""
    values = values_here(_thread.values)
    if values is not None:
        reads = Reads() if _thread.is_recording else None
        note(library, values, reads)
        with nullcontext() if reads is None else reads.recorded():
            yield
        return
    yield
    note(library, None, disturbed=_may_be_disturbed())


def note(library: Any, values: Values | None, reads: Reads | None = None, disturbed: bool = False) -> None:
    """Note how LLVM worked for the library."""
    made = _Made(values, reads, disturbed)
    known = library.__dict__.setdefault(_MADE, [])
    if made not in known:
        known.append(made)


def _may_be_disturbed() -> bool:
    """Whether Numba's machine may have the values of a scope that was left."""
    engine = attached()
    return engine is not None and not engine.shares_machines


def library_of(data: Any) -> Any:
    """The library of what a cache keeps: a compile result, or the library itself."""
    return getattr(data, "library", data)


def other_than(values: Values | None, library: Any) -> Any:
    """A part of the library that was made under other values than these, which are those of now, or None.

    One that a scope made comes before those from outside scopes.
    """
    library._ensure_finalized()
    others = [each for each in _parts(library, values) if not _is_made_under(each, values)]
    return min(others, key=is_made_outside, default=None)


def is_made_outside(library: Any) -> bool:
    """Whether LLVM worked for the library outside scopes alone."""
    return all(made == _OUTSIDE for made in library.__dict__.get(_MADE, ()))


def read_for(library: Any, values: Values) -> set[str] | None:
    """The options that LLVM read for a library of this scope, with its parts; None for all."""
    found = Reads()
    found.include(_thread.reads if _thread.reads is not None and _thread.is_recording else Reads(None))
    for part in _parts(library, values):
        for made in part.__dict__[_MADE]:
            found.include(made.reads or Reads(None))
    return found.names()


def linked(library: Any) -> Any:
    """The library to link in place of this one: Numba's runtime functions are of one scope, or outside all.

    Numba makes them once, in the scope of the first compilation or outside.
    """
    if not _is_runtime(library):
        return library
    values = values_here(_thread.values)
    if values is None or _thread.is_recording:
        return _runtime_for(values)
    return library  # nothing will be kept


def _is_runtime(library: Any) -> bool:
    return bool(rtsys._init) and library is rtsys.library


def _runtime_for(values: Values | None) -> Any:
    """Numba's runtime functions as made under these values, which are those of now.

    Those that a scope made unrecorded are made again: a key with all options would find no code elsewhere.
    """
    original = rtsys.library
    is_recorded = values is None or all(made.reads is not None for made in original.__dict__.get(_MADE, ()))
    if (is_recorded and _is_made_under(original, values)) or (values is not None and values.context is None):
        return original
    key = "" if values is None else values.key(None)
    found = _runtimes.get(key)
    if found is None:
        with compiling(records=True):
            found = _runtimes[key] = compile_nrt_functions(cpu_target.target_context)
    return found


def _parts(library: Any, values: Values | None) -> list[Any]:
    """The library and all that it links, at any depth."""
    found = [library]
    for part in found:
        for each in part._linking_libraries:
            linked_here = _runtime_like(each, values) if _is_runtime(each) else each
            if linked_here not in found:
                found.append(linked_here)
    return found


def _runtime_like(original: Any, values: Values | None) -> Any:
    """Numba's runtime functions: those made under these values, if LLVM makes the same of them."""
    own = _runtime_for(values)
    is_same = own is original or str(own._final_module) == str(original._final_module)
    return own if is_same else original


def _is_made_under(library: Any, values: Values | None) -> bool:
    """Whether LLVM would make the same under these values, of which None are those outside scopes."""
    for made in library.__dict__.get(_MADE, [_OUTSIDE]):
        if made.values is None:
            if made.disturbed or values is not None:  # unknown, and unknown whether they are the same
                return False
        elif not made.values.agree(values or outside(made.values), _names(made.reads)):
            return False
    return True


def _names(reads: Reads | None) -> set[str] | None:
    return None if reads is None else reads.names()
