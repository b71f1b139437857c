"""Which options LLVM read for one library."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from optctx.errors import OptctxError
from optctx.records.record import record

__all__ = ["Reads"]


class Reads:
    """Names of options. None stands for every option: LLVM worked where nothing was recorded."""

    def __init__(self, names: Iterable[str] | None = ()) -> None:
        self.names: set[str] | None = None if names is None else set(names)

    def add(self, other: Reads) -> None:
        if self.names is None or other.names is None:
            self.names = None
        else:
            self.names |= other.names

    def lose(self) -> None:
        """Take note that LLVM works where nothing is recorded."""
        self.names = None

    @contextmanager
    def recorded(self) -> Iterator[None]:
        """A block of which every read is added."""
        recording = record()
        try:
            log = recording.__enter__()
        except OptctxError:  # such as a thread that blocks SIGSEGV
            self.lose()
            yield
            return
        try:
            yield
        finally:
            recording.__exit__(None, None, None)
            try:
                self.add(Reads(log.names))
            except OptctxError:
                self.lose()
