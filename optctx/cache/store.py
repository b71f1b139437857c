"""Where entries are kept: in memory, or in a folder that processes share."""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from optctx._native import inside
from optctx.errors import OptctxError
from optctx.locks import Rank, lock_held_by_fork

__all__ = ["MemoryStore", "Store", "open_folder"]

_DIGEST = 32  # bytes of SHA-256


class Store(Protocol):
    """Bytes by key, the least recently used ones dropped when there are too many.

    Everything may be called by any number of threads at once.
    """

    def get(self, key: str) -> bytes | None: ...
    def set(self, key: str, value: bytes) -> None: ...
    def changing(self) -> AbstractContextManager[object]:
        """For as long as nobody else may change anything."""

    def leave(self) -> None:
        """This thread needs nothing for the time being."""

    def clear(self) -> None: ...
    def close(self) -> None: ...


class MemoryStore:
    """Of this process."""

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
        # Counted anew: an exception that interrupted this before may have left the size behind.
        size = sum(map(len, self._values.values()))
        while size > self._limit:
            size -= len(self._values.popitem(last=False)[1])

    def changing(self) -> AbstractContextManager[object]:
        return self._lock

    def leave(self) -> None:
        pass

    def clear(self) -> None:
        self._values.clear()

    def close(self) -> None:
        self.clear()


class _FolderStore:
    """A folder, by diskcache. Each value follows its digest: a damaged one counts as none."""

    def __init__(self, cache: Any) -> None:
        self._cache = cache
        self._thread = threading.get_ident()

    def get(self, key: str) -> bytes | None:
        value = self._cache.get(key)
        if not isinstance(value, bytes) or hashlib.sha256(value[_DIGEST:]).digest() != value[:_DIGEST]:
            return None
        return value[_DIGEST:]

    def set(self, key: str, value: bytes) -> None:
        self._cache.set(key, hashlib.sha256(value).digest() + value)

    def changing(self) -> AbstractContextManager[object]:
        transaction: AbstractContextManager[object] = self._cache.transact(retry=True)
        return transaction

    def leave(self) -> None:
        """Each thread has a connection of its own to the database, which nobody else could close."""
        if threading.get_ident() != self._thread:
            self._cache.close()

    def clear(self) -> None:
        self._cache.clear()
        self.leave()

    def close(self) -> None:
        self._cache.close()


def open_folder(directory: str | os.PathLike[str], size_limit: int) -> Store:
    """A store in a folder, which is made if need be.

    Raises OptctxError where diskcache is missing or the folder cannot be used.
    """
    try:
        import sqlite3

        import diskcache
    except ImportError as error:
        raise OptctxError(
            f"cannot keep compiled code in a folder: {error}; install optctx[cache], or give no folder"
        ) from error

    class PlainBytes(diskcache.Disk):  # type: ignore[misc]
        """Whoever can write to the folder must not be able to have anything unpickled here."""

        def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
            return None if mode == diskcache.core.MODE_PICKLE else super().fetch(mode, filename, value, read)

    try:
        return _FolderStore(
            diskcache.Cache(
                os.fspath(Path(directory)),
                disk=PlainBytes,
                size_limit=size_limit,
                eviction_policy="least-recently-used",
            )
        )
    except (OSError, sqlite3.Error, diskcache.Timeout) as error:
        raise OptctxError(f"cannot keep compiled code in {os.fspath(directory)!r}: {error}") from error
