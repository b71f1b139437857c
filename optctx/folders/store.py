"""A folder that processes share, with a file for each entry. Its content counts as hostile.

It takes no locks and keeps no file open: nothing waits, and forks and threads need no care. Every step opens
the folder, checks what it opened, and works relative to that. A change of the path does not matter.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager

from optctx.errors import OptctxError, shown
from optctx.folders.files import (
    FOLDER_FLAGS,
    READ_FLAGS,
    TAG_SIZE,
    WRITE_FLAGS,
    Problem,
    Problems,
    Seal,
    UnusableError,
    make_folder,
    read_all,
    untrusted,
)
from optctx.locks import lock_left_behind

_MOST = 1 << 26  # bytes of an entry
_MOST_IN_FILE = _MOST + TAG_SIZE
_OURS = r"[0-9a-f]{64}(\.[0-9a-f]{16}\.new)?"  # an entry, or one that is being written
_RECENT = 60.0  # seconds within which uses count as one
_STALE = 3600.0  # seconds that writing a file never takes
_SCAN_SECONDS = 1.0  # of looking for the oldest entries
_CLEAR_SECONDS = 10.0


class _FolderError(UnusableError):
    """Why the folder is not used."""


class FolderStore:
    """Entries in a folder. A file is a tag and a value; one whose tag does not match counts as none."""

    what = "compiled code"
    refused = (
        "and could plant compiled code; take the permission away (chmod go-w), choose another folder, or "
        "share it with CompileCache(folder, key=...)"
    )

    def __init__(
        self,
        directory: str | os.PathLike[str],
        size_limit: int,
        key: bytes | None,
        *,
        only_ours: bool = False,
    ) -> None:
        """Make the folder if it is missing. Raises OptctxError if it cannot be opened or is refused.

        `only_ours`: even with a key, folder and entries must be such that only this user and root can change
        them.
        """
        self._problems = Problems()
        self._seal = Seal(key)
        self._keyed = key is not None
        self._only_ours = only_ours or key is None
        self._limit = size_limit
        self._room = 0  # bytes to write before looking how much there is
        self._changing = lock_left_behind()  # every file is whole at any time
        self._path = os.fsdecode(directory)
        try:
            self._path = os.path.abspath(self._path)
            with self._opened(make=True):
                pass
        except (OSError, ValueError, UnusableError) as error:
            if _interrupts(error):
                raise
            raise OptctxError(f"cannot keep {self.what} in {shown(self._path)}: {_said(error)}") from error

    def get(self, key: str) -> bytes | None:
        name = self._seal.name(key)
        try:
            with self._opened() as folder:
                return self._read(folder, name)
        except FileNotFoundError:
            return None
        except (OSError, MemoryError, UnusableError) as error:
            self._failed(error, Problem.ENTRY, f"could not read {name}")
            return None

    def set(self, key: str, value: bytes) -> None:
        if len(value) > min(_MOST, self._limit):
            return
        name = self._seal.name(key)
        try:
            with self._opened(make=True) as folder:
                self._write(folder, name, self._seal.tag(name, value), value)
                self._room -= len(value)
                if self._room < 0:
                    self._make_room(folder)
        except (OSError, MemoryError, UnusableError) as error:
            self._failed(error, Problem.WRITING, "could not keep an entry")

    def unreadable(self, key: str) -> None:
        self._report(Problem.ENTRY, f"could not use {self._seal.name(key)}: it holds no entry")

    def changing(self) -> AbstractContextManager[object]:
        """Return the lock to change an entry under.

        Other processes do not take it. If two change an entry at once, one change is lost: a miss.
        """
        return self._changing

    def clear(self) -> None:
        try:
            with self._opened() as folder:
                for _, _, name in _entries(folder, _CLEAR_SECONDS):
                    with contextlib.suppress(FileNotFoundError, IsADirectoryError):
                        os.unlink(name, dir_fd=folder)
                self._room = 0
                if next(_entries(folder, _SCAN_SECONDS), None) is not None:
                    raise UnusableError("entries are left; call clear() again if no other process adds them")
        except FileNotFoundError:
            pass
        except (OSError, MemoryError, UnusableError) as error:
            self._failed(error, Problem.CLEARING, "could not drop every entry")

    def close(self) -> None:
        pass

    @contextlib.contextmanager
    def _opened(self, *, make: bool = False) -> Iterator[int]:
        """Give the folder's descriptor.

        Raises _FolderError for a folder that is refused or cannot be opened, FileNotFoundError for none.
        """
        folder = self._open(make)
        try:
            if self._only_ours and (why := untrusted(os.fstat(folder))):
                raise _FolderError(f"{why}, {self.refused}")
            yield folder
        finally:
            os.close(folder)

    def _open(self, make: bool) -> int:
        try:
            try:
                return os.open(self._path, FOLDER_FLAGS)
            except FileNotFoundError:
                if not make:
                    raise
            make_folder(self._path)
            return os.open(self._path, FOLDER_FLAGS)
        except OSError as error:
            if _interrupts(error) or (isinstance(error, FileNotFoundError) and not make):
                raise
            raise _FolderError(f"cannot open or make it: {_said(error)}") from error

    def _read(self, folder: int, name: str) -> bytes:
        file = os.open(name, READ_FLAGS, dir_fd=folder)
        try:
            status = os.fstat(file)
            self._check(status)
            data = memoryview(read_all(file, status.st_size))
            if abs(time.time() - status.st_mtime) > _RECENT:
                with _tolerant():  # another user's, or in a read-only folder
                    os.utime(file)
        finally:
            os.close(file)
        if not self._seal.matches(name, data[TAG_SIZE:], data[:TAG_SIZE]):
            raise UnusableError("it is damaged or forged")
        return bytes(data[TAG_SIZE:])

    def _check(self, status: os.stat_result) -> None:
        """Raise UnusableError if it is not a regular file, is too large, or not safe (`only_ours`)."""
        if not stat.S_ISREG(status.st_mode):
            raise UnusableError("it is not a regular file")
        if self._only_ours and (why := untrusted(status)):
            raise UnusableError(why)
        if status.st_size > _MOST_IN_FILE:
            raise UnusableError(f"it has {status.st_size} bytes; an entry has {_MOST} at most")

    def _write(self, folder: int, name: str, *parts: bytes) -> None:
        """Write a whole file, then put it in place of the one before, if any."""
        temporary = f"{name}.{os.urandom(8).hex()}.new"
        file = os.open(temporary, WRITE_FLAGS, 0o600, dir_fd=folder)
        try:
            with open(file, "wb") as opened:
                if self._keyed:  # users who can read the folder can read its entries
                    os.fchmod(file, 0o600 | os.fstat(folder).st_mode & 0o666)
                opened.writelines(parts)
            os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with _tolerant():
                os.unlink(temporary, dir_fd=folder)
            raise

    def _make_room(self, folder: int) -> None:
        """Drop the entries that were used least recently, and what interrupted writers left."""
        found = sorted(_entries(folder, _SCAN_SECONDS))
        total = sum(size for _, size, _ in found if size <= _MOST_IN_FILE)
        keep = self._limit if total <= self._limit else self._limit * 9 // 10
        before = time.time() - _STALE
        for used, size, name in found:
            no_entry = size > _MOST_IN_FILE or (name.endswith(".new") and used < before)
            if no_entry or total > keep:
                with _tolerant():  # another user's, where only its owner can
                    os.unlink(name, dir_fd=folder)
                    total -= 0 if size > _MOST_IN_FILE else size
        self._room = self._limit // 16  # other processes write as well

    def _failed(self, error: Exception, kind: Problem, what: str) -> None:
        if _interrupts(error):
            try:
                raise error
            finally:
                del error  # whose traceback leads to this frame
        if isinstance(error, _FolderError):
            kind = Problem.FOLDER
        self._report(kind, f"{what}: {_said(error)}")

    def _report(self, kind: Problem, what: str) -> None:
        where = shown(self._path)
        self._problems.report(kind, f"the compile cache in {where} {what}; {_REMEDIES[kind]}")


_REMEDIES = {
    Problem.FOLDER: "until then every compilation is a miss",
    Problem.ENTRY: "the input is compiled again; if this recurs, check the disk and who can write there",
    Problem.WRITING: "results are not kept until the folder has space and can be written to",
    Problem.CLEARING: "remove the folder to be certain",
}


def _entries(folder: int, seconds: float) -> Iterator[tuple[float, int, str]]:
    """Yield time of last use, size and name of the entries, as many as are found in so many seconds."""
    deadline = time.monotonic() + seconds
    with os.scandir(folder) as listing:
        in_time = itertools.takewhile(lambda _: time.monotonic() <= deadline, listing)
        for each in filter(lambda each: re.fullmatch(_OURS, each.name), in_time):
            with contextlib.suppress(FileNotFoundError):
                status = each.stat(follow_symlinks=False)
                yield status.st_mtime, status.st_size, each.name


def _interrupts(error: Exception) -> bool:
    """Tell whether a signal handler raised it, such as `TimeoutError()`, and no system call."""
    return isinstance(error, OSError) and error.errno is None


@contextlib.contextmanager
def _tolerant() -> Iterator[None]:
    """Ignore what the system refuses."""
    try:
        yield
    except OSError as error:
        if _interrupts(error):
            raise


def _said(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return "there is no memory for it" if isinstance(error, MemoryError) else str(error)
