"""The interface of stores for entries, and the store in memory."""

from __future__ import annotations

from collections import OrderedDict
from contextlib import AbstractContextManager
from typing import Protocol

from optctx._native import inside
from optctx.locks import Rank, lock_held_by_fork

__all__ = ["MemoryStore", "Store"]


class Store(Protocol):
    """Bytes by key. Drops the least recently used ones when there are too many.

    Any number of threads can call the methods at once. None of them raises.
    """

    def get(self, key: str) -> bytes | None: ...
    def set(self, key: str, value: bytes) -> None: ...
    def unreadable(self, key: str) -> None:
        """Report that the bytes that `get` returned for a key are not an entry."""

    def changing(self) -> AbstractContextManager[object]:
        """Keep other threads of this process from changing entries."""

    def clear(self) -> None: ...
    def close(self) -> None: ...


class MemoryStore:
    """A store in the memory of this process."""

    def __init__(self, size_limit: int) -> None:
        """`size_limit`: bytes of values."""
        self._limit = size_limit
        self._values: OrderedDict[str, bytes] = OrderedDict()
        self._lock = lock_held_by_fork(Rank.STORE)

    def get(self, key: str) -> bytes | None:
        return inside(self._lock, self._get, key)

    def _get(self, key: str) -> bytes | None:
        if key in self._values:
            self._values.move_to_end(key)
        return self._values.get(key)

    def set(self, key: str, value: bytes) -> None:
        inside(self._lock, self._set, key, value)

    def _set(self, key: str, value: bytes) -> None:
        self._values[key] = value
        self._values.move_to_end(key)
        # Summed up again, because an exception between two steps would make a kept sum wrong.
        size = sum(map(len, self._values.values()))
        while size > self._limit:
            size -= len(self._values.popitem(last=False)[1])

    def unreadable(self, key: str) -> None:
        pass

    def changing(self) -> AbstractContextManager[object]:
        return self._lock

    def clear(self) -> None:
        self._values.clear()

    def close(self) -> None:
        self.clear()
