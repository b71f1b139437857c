"""Numba's cache of compiled functions, with LLVM's options in its keys.

Numba looks up a function by its signature, its source and the processor. Here the key also has the current
states of the options that its compilation read. So a cached function is loaded only if LLVM would compile the
same code, and it is still found if only options have changed that were not read. The files lie beside Numba's
own files, which they leave alone. Numba itself does not look for them.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from typing import Any

from llvmlite import binding
from numba.core import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.errors import NumbaWarning

from optctx.cache.key import Situation
from optctx.context.attributes import attributes_policy
from optctx.numba.codegen import FOREIGN
from optctx.numba.reads import Reads
from optctx.records.option_state import process_states

__all__ = ["OptionsCache"]

_FORMAT = 1  # of keys and of entries
_MOST_WAYS = 64  # sets of options that compilations of one function have read
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS")


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

    def __init__(self, py_func: Any, target: Any) -> None:
        self._target = target
        super().__init__(py_func)
        target.target_context.codegen().records = True

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        if not self._enabled:
            return None
        under = self._under(sig, target_context.codegen())
        for names in self._ways(under):
            key = self._key(under, names)
            entry = self._cache_file.load(key)
            # Two processes that save at once may have chosen the same file.
            if entry is not None and entry[0] == key:
                loaded = self._impl.rebuild(target_context, entry[1])
                loaded.library.reads = Reads(names)
                return loaded
        return None

    def _save_overload(self, sig: Any, data: Any) -> None:
        if not self._enabled or not self._impl.check_cachable(data):
            return
        self._impl.locator.ensure_cache_path()
        names = self._names(data.library.all_reads())
        under = self._under(sig, data.codegen)
        key = self._key(under, names)
        self._cache_file.save(key, (key, self._impl.reduce(data)))
        ways = self._ways(under)
        if names not in ways:
            kept = [*ways, names][-_MOST_WAYS:]
            self._cache_file.save(under, (under, kept))

    def _ways(self, under: Any) -> list[list[str]]:
        entry = self._cache_file.load(under)
        return entry[1] if entry is not None and entry[0] == under else []

    def _names(self, reads: Reads) -> list[str]:
        names = reads.names()
        return sorted(self._target.engine.options if names is None else names)

    def _under(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """The key for everything that the result depends on, except options that can be scoped."""
        engine = self._target.engine
        parts = [
            *(_FORMAT, engine.image.build_id, binding.get_process_triple(), process_states(engine)),
            *(attributes_policy(), [repr(getattr(config, name, None)) for name in _SETTINGS]),
        ]
        text = json.dumps(parts, default=repr)
        return (
            *self._index_key(sig, codegen),
            hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest(),
        )

    def _key(self, under: tuple[Any, ...], names: list[str]) -> tuple[Any, ...]:
        situation = Situation(self._target.engine, self._target.context._native)
        return (*under, situation.key("", names))
