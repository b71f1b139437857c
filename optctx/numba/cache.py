"""Numba's cache of compiled functions, with LLVM's options in its keys.

Numba looks up a function by its signature, its source and the processor. Here the key also has the current
states of the options that its compilation read. So a cached function is loaded only if LLVM would compile the
same code, and it is still found if only options have changed that were not read. The files lie beside Numba's
own files, which they leave alone. Numba itself does not look for them.
"""

from __future__ import annotations

import warnings
from typing import Any

from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.errors import NumbaWarning
from numba.core.types import Generator

from optctx.numba.codegen import FOREIGN
from optctx.numba.entries import Entries, warn_not_cached


class _Files(CompileResultCacheImpl):  # type: ignore[misc]
    def get_filename_base(self, fullname: str, abiflags: str) -> str:
        return f"{super().get_filename_base(fullname, abiflags)}-optctx"

    def check_cachable(self, cres: Any) -> bool:
        if cres.library.has_dynamic_globals and FOREIGN in cres.library._dynamic_globals:
            name = cres.fndesc.qualname.split(".")[-1]
            why = "as it calls a function that has LLVM options of its own"
            text = f'Cannot cache compiled function "{name}" {why}'
            warnings.warn_explicit(text, NumbaWarning, self._locator._py_file, self._lineno)
            return False
        return bool(super().check_cachable(cres))


class OptionsCache(FunctionCache):  # type: ignore[misc]
    """The cache of one function under one target."""

    _impl_class = _Files
    keys_hold_options = True

    def __init__(self, py_func: Any, target: Any) -> None:
        self._target = target
        super().__init__(py_func)
        target.target_context.codegen().records = True

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._enabled:
            return None
        base = self._index_key(sig, target_context.codegen())
        found = Entries(self._cache_file).find(base, self._target.values_now())
        if found is None:
            return None
        reads, data = found
        loaded = self._impl.rebuild(target_context, data)
        loaded.library.reads = reads
        return loaded

    def _save_overload(self, sig: Any, data: Any) -> None:
        # Numba cannot compile what calls a loaded generator: the code that goes on is not in the file.
        is_generator = isinstance(data.signature.return_type, Generator)
        if not self._enabled or is_generator or not self._impl.check_cachable(data):
            return
        values, read = self._target.values_now(), data.library.reads.names()
        if values.key(read) != self._target.first_values.key(read):
            why = "a file that an option names, or an option of the whole process, may have changed"
            warn_not_cached(self._py_func, f"{why} since Numba first compiled under these options")
            return
        self._impl.locator.ensure_cache_path()
        Entries(self._cache_file).keep(
            self._index_key(sig, data.codegen), values, read, self._impl.reduce(data)
        )
