"""Files of Numba's kind whose entries are found by the options that their compilation read.

The option values under which LLVM works for Numba are part of a key. The options that LLVM read for one
library decide which of them count.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import binding
from numba.core import config

from optctx.cache.entries import Situation, digest
from optctx.context.context import OptionContext
from optctx.engine.engine import Engine
from optctx.errors import NumbaOptionsWarning, OptctxError
from optctx.reads.log import Log
from optctx.reads.recording import record
from optctx.travelling.attributes import attributes_policy
from optctx.values.states import process_texts

_FORMAT = 2  # of keys and of entries
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS")


class Values:
    """The values of a context at one moment, with all else that is in force for LLVM in this process."""

    def __init__(self, engine: Engine, context: OptionContext) -> None:
        self._engine = engine
        self._situation = Situation(engine, context._native)
        parts = [
            *(_FORMAT, engine.image.build_id, binding.get_process_triple(), process_texts(engine)),
            *(attributes_policy(), [repr(getattr(config, name, None)) for name in _SETTINGS]),
        ]
        self.rest = digest(parts)

    def key(self, names: Collection[str] | None) -> str:
        """A text for these states of the options `names`, of all if that is None.

        Where it is the same, LLVM does the same, if it reads no other options.
        """
        return self._situation.key(self.rest, sorted(self._engine.options if names is None else names))


class Reads:
    """The names of options that were read, with those of the Reads that it includes."""

    def __init__(self, names: Iterable[str] | None = ()) -> None:
        self._names: set[str] | None = None if names is None else set(names)
        self._log: Log | None = None  # of the current block
        self._included: list[Reads] = []

    def names(self) -> set[str] | None:
        """The names so far. None stands for all options, because LLVM also worked unrecorded."""
        found: set[str] = set()
        reached = [self]
        for reads in reached:
            own = reads._own()
            if own is None:
                return None
            found |= own
            reached += [each for each in reads._included if each not in reached]
        return found

    def include(self, other: Reads) -> None:
        """Count the reads of `other`, now and later."""
        if other is not self and other not in self._included:
            self._included.append(other)

    def lose(self) -> None:
        """Note that LLVM works unrecorded."""
        self._names = None

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """A block in which every read is counted."""
        has_begun = False
        try:
            with record() as self._log:
                has_begun = True
                yield
        except OptctxError:
            if has_begun:
                raise
        finally:
            self._names = self._own()
            self._log = None
        if not has_begun:  # as on a thread that blocks SIGSEGV
            self.lose()
            yield

    def _own(self) -> set[str] | None:
        if self._names is None or self._log is None:
            return self._names
        try:
            return self._names | self._log.names
        except OptctxError:  # not everything was recorded
            return None


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

    def _under(self, base: Any, values: Values) -> tuple[Any, ...]:
        """The key for everything that the result depends on, except options that can be scoped."""
        return (*base, repr(self._file._source_stamp), values.rest)


def warn_not_cached(function: Any, why: str) -> None:
    """Warn, at a function, that its code is not kept."""
    warnings.warn_explicit(
        f"{function.__qualname__} is not cached: {why}",
        NumbaOptionsWarning,
        function.__code__.co_filename,
        function.__code__.co_firstlineno,
    )
