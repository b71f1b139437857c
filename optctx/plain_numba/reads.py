"""The options that LLVM read for one library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from optctx.errors import OptctxError
from optctx.reads.log import Log
from optctx.reads.recording import record

__all__ = ["Reads"]


class Reads:
    """The names of options that were read, with those of the Reads that it includes."""

    def __init__(self, names: Iterable[str] | None = ()) -> None:
        self._names: set[str] | None = None if names is None else set(names)
        self._log: Log | None = None  # of the current block
        self._included: list[Reads] = []

    def names(self) -> set[str] | None:
        """The names so far. None stands for all options, because LLVM also worked unrecorded."""
        found: set[str] = set()
        seen: list[Reads] = []
        waiting = [self]
        while waiting:
            reads = waiting.pop()
            if reads in seen:
                continue
            seen.append(reads)
            own = reads._own()
            if own is None:
                return None
            found |= own
            waiting += reads._included
        return found

    def include(self, other: Reads) -> None:
        """Count the reads of `other`, now and later."""
        if other is not self and other not in self._included:
            self._included.append(other)

    def lose(self) -> None:
        """Note that LLVM works unrecorded."""
        self._names = None

    @property
    def is_open(self) -> bool:
        """Whether a block of `recorded` records now."""
        return self._log is not None and not self._log.is_over

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
