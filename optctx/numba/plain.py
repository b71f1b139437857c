"""What is put into Numba: its cache is not used inside scopes, and keeps nothing that was compiled in one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from llvmlite.binding.context import get_global_context
from numba.core.caching import Cache
from numba.core.codegen import CPUCodeLibrary
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.core.runtime.nrtdynmod import compile_nrt_functions

from optctx.context.lookups import bound, seen
from optctx.engine.attach import attached
from optctx.errors import ScopeError
from optctx.hosts.llvmlite.ffi_calls import is_wrapped, wrap_method
from optctx.numba.entries import warn_not_cached

Method = Callable[..., Any]

_SCOPED = "_optctx_scoped"  # an attribute of libraries for which LLVM worked inside a scope


def install() -> None:
    """Wrap each method once, even if an exception interrupted an earlier call.

    Two threads that come at once may wrap one twice, which does no harm.
    """
    if rtsys._init and not is_wrapped(CPUCodeLibrary, "finalize") and _is_in_scope():
        setattr(rtsys.library, _SCOPED, True)  # made on Numba's way here
    wrap_method(Cache, "load_overload", _load)
    wrap_method(Cache, "save_overload", _save)
    wrap_method(CPUCodeLibrary, "add_ir_module", _work)
    wrap_method(CPUCodeLibrary, "add_linking_library", _add_linking_library)
    wrap_method(CPUCodeLibrary, "finalize", _work)


def _is_in_scope() -> bool:
    """Whether LLVM may work for Numba under other values here than outside all scopes."""
    engine = attached()
    if engine is None:
        return False
    if not engine.shares_machines:  # Numba has one, which keeps values of earlier scopes
        return True
    try:
        return seen(engine, "compile with Numba") is not None or bound(get_global_context()) is not None
    except ScopeError:  # a scope of another task, suspended on this thread
        return True


def _load(original: Method, self: Any, sig: Any, target_context: Any) -> Any:
    if _is_in_scope() and not _holds_options(self):
        target_context.refresh()  # as the original does
        return None
    return original(self, sig, target_context)


def _save(original: Method, self: Any, sig: Any, data: Any) -> None:
    if not _holds_options(self):
        if _is_in_scope():
            return
        part = _scoped_part(getattr(data, "library", data))
        if part is not None:
            why = (
                f"Numba compiled {part.name}, which is part of it, inside a scope; decorate "
                f"{self._py_func.__qualname__} with optctx.numba.njit, which compiles what it calls, too"
            )
            warn_not_cached(self._py_func, why)
            return
    original(self, sig, data)


def _holds_options(cache: Any) -> bool:
    """Whether the cache is of `optctx.numba`."""
    return getattr(cache, "keys_hold_options", False)


def _scoped_part(library: Any) -> Any:
    """The library, or one that it links, at any depth, for which LLVM worked inside a scope; or None."""
    parts = [library]
    for part in parts:
        if hasattr(part, _SCOPED):
            return part
        parts += [each for each in getattr(part, "_linking_libraries", ()) if each not in parts]
    return None


def _work(original: Method, self: Any, *args: Any) -> Any:
    # Numba itself caches nothing that links a library of `optctx.numba`.
    if _is_in_scope() and not getattr(self, "has_own_options", False):
        setattr(self, _SCOPED, True)
    return original(self, *args)


def _add_linking_library(original: Method, self: Any, library: Any) -> Any:
    """Numba makes its runtime functions once, and links them into everything."""
    if hasattr(library, _SCOPED) and library is rtsys.library and not _is_in_scope():
        library = _runtime_outside()
    return original(self, library)


@functools.cache
def _runtime_outside() -> Any:
    """Numba's runtime functions, made outside scopes after the first ones were made inside one."""
    return compile_nrt_functions(cpu_target.target_context)
