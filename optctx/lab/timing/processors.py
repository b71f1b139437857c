"""Which processors there are, and a lock for each: two measurements never share one.

The lock is the kernel's (`flock` on a file of this user). It is released when the process that took it ends,
however it ends. A child of fork does not have it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import platform
import re
import tempfile
import time
import weakref

from optctx.errors import OptctxError
from optctx.folders.files import UnusableError, make_folder, make_own_folder, untrusted
from optctx.lab.timing.conditions import isolated_processors

__all__ = ["ProcessorLock", "processors"]

_STEP = 0.02  # seconds between two tries
_OPEN = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


def processors() -> list[int]:
    """The numbers of the processors that this process may use, those first on which to measure.

    Isolated ones come first and processor 0 last, because it serves the interrupts of most machines.
    """
    isolated = isolated_processors()
    return sorted(os.sched_getaffinity(0), key=lambda number: (number not in isolated, -number))


class ProcessorLock:
    """A processor that no other process of this user measures on. A context manager, to be entered once.

    `number`: None takes the first of `processors()` that is free. `patience`: seconds to wait for it. It does
    not move this process to the processor. Entering raises OptctxError if the processor stays taken, is none
    that this process may use, or if no folder can hold the lock. Where homes are shared, each machine has its
    own locks.
    """

    def __init__(self, number: int | None = None, patience: float = 600.0) -> None:
        self._wanted = number
        self._patience = patience
        self._file: int | None = None
        self.number = -1

    def __enter__(self) -> ProcessorLock:
        allowed = processors()
        if self._wanted is not None and self._wanted not in allowed:
            may = ", ".join(map(str, sorted(allowed)))
            raise OptctxError(f"cannot measure on processor {self._wanted}: this process may use {may}")
        numbers = [self._wanted] if self._wanted is not None else allowed
        folder = _folder()
        deadline = time.monotonic() + self._patience
        while not any(self._try(folder, number) for number in numbers):
            if time.monotonic() >= deadline:
                raise OptctxError(_taken(folder, numbers, self._patience))
            time.sleep(_STEP)
        return self

    def __exit__(self, *error: object) -> None:
        file, self._file = self._file, None
        if file is not None:
            os.close(file)

    def _try(self, folder: str, number: int) -> bool:
        try:
            file = os.open(_path(folder, number), _OPEN, 0o600)
        except OSError as error:
            raise OptctxError(f"cannot lock a processor: {error}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(file, 0)
            os.pwrite(file, str(os.getpid()).encode(), 0)
        except BlockingIOError:
            os.close(file)
            return False
        except BaseException:
            os.close(file)
            raise
        self._file, self.number = file, number
        _held.add(self)
        return True

    def _forked(self) -> None:
        """In a child the lock stays the parent's, and is released when the parent ends."""
        file, self._file = self._file, None
        if file is not None:
            os.close(file)


_held: weakref.WeakSet[ProcessorLock] = weakref.WeakSet()


def _leave_to_parent() -> None:
    for lock in list(_held):
        lock._forked()


os.register_at_fork(after_in_child=_leave_to_parent)


def _folder() -> str:
    """A folder that this user alone can change: of the user's caches, or of temporary files."""
    from platformdirs import PlatformDirs

    cache = PlatformDirs("optctx", appauthor=False).user_cache_dir
    temporary = os.path.join(tempfile.gettempdir(), f"optctx-{os.geteuid()}")
    problems = []
    for folder, make in ((os.path.join(cache, "processors"), make_own_folder), (temporary, make_folder)):
        try:
            if not os.path.isdir(folder):
                make(folder)
            if why := untrusted(os.stat(folder)):
                raise UnusableError(why)
            if not os.access(folder, os.W_OK | os.X_OK):
                raise UnusableError("this user cannot write to it")
        except (OSError, UnusableError) as error:
            problems.append(f"{folder}: {error}")
            continue
        return folder
    raise OptctxError(f"cannot lock a processor: no folder for the lock can be used ({'; '.join(problems)})")


def _path(folder: str, number: int) -> str:
    machine = re.sub(r"[^\w.-]", "_", platform.node()) or "machine"
    return os.path.join(folder, f"{machine}-{number}.lock")


def _taken(folder: str, numbers: list[int], patience: float) -> str:
    by = ""
    if len(numbers) == 1:
        with contextlib.suppress(OSError, ValueError), open(_path(folder, numbers[0]), "rb") as file:
            by = f" by process {int(file.read(20))}"
    which = f"processor {numbers[0]} is" if len(numbers) == 1 else "every processor is"
    return f"cannot measure: {which} taken{by} for longer than {patience:g} s; wait for the other measurement"
