"""What each thread of a worker has been doing, in a file that outlives the worker."""

from __future__ import annotations

import mmap
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path

__all__ = ["HISTORY", "Board", "Note"]

HISTORY = 12  # operations of a thread that are kept
_ENTRY = struct.Struct("<d I 20s")  # time.monotonic() of the start, number from 1, kind
_COUNTS = struct.Struct("<QQ")  # operations that a thread has finished, and compilations in them


@dataclass(frozen=True)
class Note:
    """One operation of a thread."""

    started: float
    number: int
    kind: str


class Board:
    """For each thread a ring of notes and a count. One thread writes each; another process may read."""

    def __init__(self, path: Path, threads: int) -> None:
        self._threads = threads
        self._row = _COUNTS.size + HISTORY * _ENTRY.size
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            os.ftruncate(descriptor, threads * self._row)
            self._map = mmap.mmap(descriptor, threads * self._row)
        finally:
            os.close(descriptor)

    def begin(self, thread: int, number: int, kind: str) -> None:
        at = thread * self._row + _COUNTS.size + number % HISTORY * _ENTRY.size
        _ENTRY.pack_into(self._map, at, time.monotonic(), number, kind.encode())

    def end(self, thread: int, number: int, compilations: int) -> None:
        _COUNTS.pack_into(self._map, thread * self._row, number, compilations)

    def operations(self) -> int:
        return sum(self._counts(thread)[0] for thread in range(self._threads))

    def compilations(self) -> int:
        return sum(self._counts(thread)[1] for thread in range(self._threads))

    def notes(self, thread: int) -> list[Note]:
        """The last operations of a thread, the latest last."""
        start = thread * self._row + _COUNTS.size
        ends = range(start, start + HISTORY * _ENTRY.size, _ENTRY.size)
        found = [_ENTRY.unpack_from(self._map, at) for at in ends]
        notes = [Note(started, number, kind.rstrip(b"\0").decode()) for started, number, kind in found]
        return sorted((each for each in notes if each.number), key=lambda each: each.number)

    def oldest(self) -> float:
        """Seconds since the beginning of the operation that has been running longest."""
        now = time.monotonic()
        last = []
        for thread in range(self._threads):
            notes = self.notes(thread)
            if notes and notes[-1].number > self._counts(thread)[0]:
                last.append(notes[-1])
        return max((now - each.started for each in last), default=0.0)

    def _counts(self, thread: int) -> tuple[int, int]:
        operations, compilations = _COUNTS.unpack_from(self._map, thread * self._row)
        return int(operations), int(compilations)

    def __str__(self) -> str:
        lines = []
        for thread in range(self._threads):
            words = [f"{each.number} {each.kind}" for each in self.notes(thread)]
            lines.append(f"  thread {thread}: {', '.join(words)}")
        return "\n".join(lines)
