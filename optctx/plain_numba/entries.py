"""Files of Numba's kind whose entries are found by the options that their compilation read."""

from __future__ import annotations

import os
from typing import Any

from optctx.plain_numba.reads import Reads
from optctx.plain_numba.values import Values

__all__ = ["Entries"]


class Entries:
    """Compiled code by Numba's own key, and by the states of the options that were read.

    As in `optctx.cache`, there are two steps: the keys of the index that are alike but for options name those
    that were read, and with their states of now one of these keys is looked up. An entry holds its whole key:
    processes that save at once may choose the same file, and one that is killed leaves a name in the index
    without a file of its own.
    """

    def __init__(self, file: Any) -> None:
        self._file = file  # numba.core.caching.IndexDataCacheFile

    def find(self, base: Any, values: Values) -> tuple[Reads, Any] | None:
        """What was read, and what was kept."""
        under = self._under(base, values)
        for key in self._file._load_index():
            if isinstance(key, tuple) and key[:-2] == under and key[-1] == values.key(key[-2]):
                entry = self._file.load(key)
                if isinstance(entry, tuple) and entry[0] == key:
                    return Reads(key[-2]), entry[1]
        return None

    def keep(self, base: Any, values: Values, read: set[str] | None, data: Any) -> None:
        """`read`: the names of options; None for all."""
        names = None if read is None else tuple(sorted(read))
        key = (*self._under(base, values), names, values.key(names))
        self._file.save(key, (key, data))

    def flush(self) -> None:
        """Forget all entries."""
        if os.path.exists(self._file._index_path):
            self._file.flush()

    def _under(self, base: Any, values: Values) -> tuple[Any, ...]:
        """The key for everything that the result depends on, except options that can be scoped."""
        return (*base, repr(self._file._source_stamp), values.rest)
