"""A folder of entries that processes of one user share: a file for each entry, with a digest of its value.

It takes no locks and keeps no file open: nothing waits, and forks and threads need no care. A writer makes a
new file and renames it, so a reader finds a whole one.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import warnings
from collections.abc import Iterator

from optctx.errors import CacheWarning, OptctxError, level_outside, reason, shown
from optctx.locks import lock_left_behind
from optctx.outputs import replace_file

try:
    from _blake2 import blake2b  # hashlib loads OpenSSL, which takes longer than everything else about a tag
except ImportError:  # a Python without hashes of its own
    from hashlib import blake2b

TAG_SIZE = 32  # bytes
_DOMAIN = b"optctx compile cache, format 3\0"
_OURS = r"[0-9a-f]{64}(\.[0-9a-f]{16}\.new)?"  # an entry, or one that is being written
_RECENT = 60.0  # seconds within which uses count as one
_STALE = 3600.0  # seconds that writing a file never takes


def tag(name: str, value: bytes | memoryview) -> bytes:
    """Return the digest of a value. It covers the name, so an entry that was moved does not match."""
    return _digest(b"value\0", name.encode(), value)


def _digest(*parts: bytes | memoryview) -> bytes:
    state = blake2b(_DOMAIN, digest_size=TAG_SIZE)
    for part in parts:  # all but the last have a fixed length
        state.update(part)
    return state.digest()


class FolderStore:
    """Entries in a folder. A file is a tag and a value; one whose tag does not match counts as none.

    A folder or a file that cannot be used is a warning for the first problem of each kind, never an error.
    """

    what = "compiled code"

    def __init__(self, directory: str | os.PathLike[str], size_limit: int) -> None:
        """Make the folder for this user alone if it is missing. Raises OptctxError if it cannot be opened."""
        self._limit = size_limit
        self._room = 0  # bytes to write before looking how much there is
        # The lock to change an entry under. Other processes do not take it: if two change one at once, one
        # change is lost, which is a miss. Every file is whole at any time.
        self.changing = lock_left_behind()
        self._reported: dict[str, object] = {}
        self._path = os.fsdecode(directory)
        try:
            self._path = os.path.abspath(self._path)
            self._make()
            os.scandir(self._path).close()
        except (OSError, ValueError) as error:
            raise OptctxError(f"cannot keep {self.what} in {shown(self._path)}: {reason(error)}") from error

    def get(self, key: str) -> bytes | None:
        name = self._name(key)
        path = os.path.join(self._path, name)
        try:
            with open(path, "rb") as file:
                data = memoryview(file.read())
                used = os.fstat(file.fileno()).st_mtime
            if abs(time.time() - used) > _RECENT:
                with contextlib.suppress(OSError):  # in a read-only folder
                    os.utime(path)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._report("reading", f"could not read {name}: {reason(error)}")
            return None
        if tag(name, data[TAG_SIZE:]) != data[:TAG_SIZE]:
            self._report("reading", f"could not read {name}: it is damaged")
            return None
        return bytes(data[TAG_SIZE:])

    def set(self, key: str, value: bytes) -> None:
        if len(value) > self._limit:
            return
        name = self._name(key)
        try:
            self._make()
            replace_file(os.path.join(self._path, name), tag(name, value), value)
            self._room -= len(value)
            if self._room < 0:
                self._make_room()
        except OSError as error:
            self._report("writing", f"could not keep an entry: {reason(error)}")

    def clear(self) -> None:
        try:
            for _, _, path in self._files():
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            self._room = 0
        except FileNotFoundError:
            pass
        except OSError as error:
            self._report("clearing", f"could not drop every entry: {reason(error)}")

    def _name(self, key: str) -> str:
        return _digest(b"name\0", key.encode()).hex()

    def _make(self) -> None:
        os.makedirs(self._path, 0o700, exist_ok=True)

    def _make_room(self) -> None:
        """Drop the entries that were used least recently, and what interrupted writers left."""
        found = sorted(self._files())
        total = sum(size for _, size, _ in found)
        keep = self._limit if total <= self._limit else self._limit * 9 // 10
        before = time.time() - _STALE
        for used, size, path in found:
            if total > keep or (path.endswith(".new") and used < before):
                with contextlib.suppress(OSError):  # another process may have dropped it
                    os.unlink(path)
                    total -= size
        self._room = self._limit // 16  # other processes write as well

    def _files(self) -> Iterator[tuple[float, int, str]]:
        """Yield time of last use, size and path of the entries."""
        with os.scandir(self._path) as listing:
            for each in filter(lambda each: re.fullmatch(_OURS, each.name), listing):
                with contextlib.suppress(FileNotFoundError):
                    status = each.stat(follow_symlinks=False)
                    yield status.st_mtime, status.st_size, each.path

    def _report(self, kind: str, what: str) -> None:
        """Warn the caller of optctx, unless this store has reported a problem of that kind before."""
        mine = object()
        if self._reported.setdefault(kind, mine) is mine:
            text = f"the compile cache in {shown(self._path)} {what}; {_REMEDIES[kind]}"
            warnings.warn(text, CacheWarning, stacklevel=level_outside())


_REMEDIES = {
    "reading": "the input is compiled again; if this recurs, check the disk",
    "writing": "results are not kept until the folder has space and can be written to",
    "clearing": "remove the folder to be certain",
}
