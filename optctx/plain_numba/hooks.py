"""What is put into Numba: its cache keeps code that scopes made to itself, with their options in its keys."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from numba.core.caching import Cache, IndexDataCacheFile, NullCache
from numba.core.ccallback import CFunc
from numba.core.codegen import CPUCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import Dispatcher
from numba.core.runtime import rtsys
from numba.np.ufunc.ufuncbuilder import UFuncDispatcher

from optctx.plain_numba.entries import Entries, gives_generator, outside, values_here, warn_not_cached
from optctx.plain_numba.made import (
    compiling,
    is_made_outside,
    library_of,
    linked,
    making,
    note,
    other_than,
    read_for,
)

Method = Callable[..., Any]

_SUFFIX = "-optctx-scope"  # of files; those of `optctx.numba` end with "-optctx"
_CANNOT_HOLD = "the keys of a {} cannot hold the options of a scope"
_OWN = ("load_overload", "save_overload", "_load_overload", "_save_overload")


def install() -> None:
    """Wrap each method once, even if an exception interrupted an earlier call.

    Two threads that come at once may wrap one twice, which does no harm.
    """
    if rtsys._init and not _is_wrapped(CPUCodeLibrary, "finalize") and (values := values_here()) is not None:
        note(rtsys.library, values)  # made on Numba's way here; which options were read is unknown
    _wrap(Cache, "_save_overload", _save)
    _wrap(Cache, "_load_overload", _load)
    _wrap(Cache, "flush", _flush)
    _wrap(CPUCodeLibrary, "add_ir_module", _working)
    _wrap(CPUCodeLibrary, "add_linking_library", _linking)
    _wrap(CPUCodeLibrary, "finalize", _working)
    _wrap(Dispatcher, "compile", functools.partial(_compile, "_cache"))
    _wrap(CFunc, "compile", functools.partial(_compile, "_cache"))
    _wrap(UFuncDispatcher, "_compile_core", functools.partial(_compile, "cache"))


def _is_wrapped(owner: type, name: str) -> bool:
    return hasattr(owner.__dict__[name], "_optctx")


def _wrap(owner: type, name: str, make: Callable[[Method], Method]) -> None:
    if not _is_wrapped(owner, name):
        original = owner.__dict__[name]
        wrapper: Any = functools.wraps(original)(make(original))
        wrapper._optctx = True
        setattr(owner, name, wrapper)


def _working(original: Method) -> Method:
    def work(self: Any, *args: Any) -> Any:
        if getattr(self, "has_own_options", False):  # of `optctx.numba`, which plain Numba's cache refuses
            return original(self, *args)
        with making(self):
            return original(self, *args)

    return work


def _linking(original: Method) -> Method:
    def add_linking_library(self: Any, library: Any) -> Any:
        return original(self, linked(library))

    return add_linking_library


def _compile(attribute: str, original: Method) -> Method:
    """A compilation of a function: in a scope, the reads for its cache are recorded."""

    def compile(self: Any, *args: Any, **named: Any) -> Any:
        cache = getattr(self, attribute)
        if getattr(cache, "keys_hold_options", False):
            return original(self, *args, **named)
        is_cached = not isinstance(cache, NullCache)
        if is_cached and not _is_numbas(cache):
            return _guarded(self, attribute, functools.partial(original, self, *args, **named))
        with compiling(records=is_cached):
            return original(self, *args, **named)

    return compile


def _is_numbas(cache: Any) -> bool:
    """Whether the cache loads and saves as Numba's own do, so with what is installed here."""
    kind = type(cache)
    return isinstance(cache, Cache) and all(getattr(kind, name) is getattr(Cache, name) for name in _OWN)


def _guarded(owner: Any, attribute: str, compile: Callable[[], Any]) -> Any:
    with global_compiler_lock:
        cache = getattr(owner, attribute)
        if isinstance(cache, _Guard):
            return compile()
        function = getattr(owner, "py_func", None) or owner._pyfunc
        try:
            setattr(owner, attribute, _Guard(cache, function))
            return compile()
        finally:
            setattr(owner, attribute, cache)


class _Guard:
    """Stands for another cache than Numba's during one compilation: its keys cannot hold options."""

    def __init__(self, cache: Any, function: Any) -> None:
        self._cache = cache
        self._function = function

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        if values_here() is not None:
            target_context.refresh()
            return None
        return self._cache.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        if values_here() is not None:
            warn_not_cached(self._function, _CANNOT_HOLD.format(type(self._cache).__name__))
        elif not _contains_other(None, self._function, library_of(data)):
            self._cache.save_overload(sig, data)


def _load(original: Method) -> Method:
    def load(self: Any, sig: Any, target_context: Any) -> Any:
        values = values_here()
        codegen = target_context.codegen()
        if values is None or not self._enabled:
            return original(self, sig, target_context)
        if not isinstance(codegen, JITCPUCodegen):
            return None
        found = _entries(self).find(self._index_key(sig, codegen), values)
        if found is None:
            return None
        reads, data = found
        loaded = self._impl.rebuild(target_context, data)
        note(library_of(loaded), values, reads)
        return loaded

    return load


def _save(original: Method) -> Method:
    def save(self: Any, sig: Any, data: Any) -> None:
        values, library = values_here(), library_of(data)
        if not isinstance(library, CPUCodeLibrary):
            if values is None:
                original(self, sig, data)
            else:
                warn_not_cached(self._py_func, _CANNOT_HOLD.format(type(self).__name__))
            return
        if not self._enabled or not self._impl.check_cachable(data):
            return
        if _contains_other(values, self._py_func, library):
            return
        if values is None:
            original(self, sig, data)
            return
        if gives_generator(data):
            return
        self._impl.locator.ensure_cache_path()
        base, read = self._index_key(sig, data.codegen), read_for(library, values)
        _entries(self).keep(base, values, read, self._impl.reduce(data))

    return save


def _contains_other(values: Any, function: Any, library: Any) -> bool:
    """Whether code of other values may be part of the library; warns of it.

    Does not warn of code from outside scopes where these are the values outside: as a rule they are the same,
    but what was set for the whole process when Numba compiled it is unknown.
    """
    other = other_than(values, library)
    if other is None:
        return False
    if other is library:
        why = "it is unknown under which LLVM options Numba compiled it"
    elif values is not None and is_made_outside(other) and values.agree(outside(values), None):
        return True
    else:
        why = (
            f"Numba compiled {other.name}, which is part of it, under other LLVM options; decorate "
            f"{function.__qualname__} with optctx.numba.njit, which compiles what it calls, too"
        )
    warn_not_cached(function, why)
    return True


def _flush(original: Method) -> Method:
    def flush(self: Any) -> None:
        original(self)
        _entries(self).flush()

    return flush


def _entries(cache: Any) -> Entries:
    """The entries that scopes made, beside those of Numba's."""
    return Entries(
        IndexDataCacheFile(
            cache_path=cache._cache_path,
            filename_base=cache._impl.filename_base + _SUFFIX,
            source_stamp=cache._cache_file._source_stamp,
        )
    )
