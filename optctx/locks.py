"""Locks that a forked child never finds held by a thread that does not exist there (design/fork.md).

Every lock of optctx's Python code is made here. Those of its native code are in native/os/fork_locks.hpp.
"""

from __future__ import annotations

import contextlib
import enum
import logging  # noqa: F401  its own hook is registered first, so a fork takes its lock after those here
import os
import threading
import weakref


class Rank(enum.IntEnum):
    """The order in which a thread takes locks when it holds several, and in which a fork takes all of them.

    A thread that holds one may need the GIL, which a fork releases while it waits.
    """

    ENGINE = 1  # attaching and detaching
    TASKS = 2  # following tasks, from the first context on
    IMAGES = 3  # the index of each image
    COUNTS = 4  # of hits and misses


# The locks, with None for one that a fork does not wait for. Changed and copied in single steps.
_locks: dict[weakref.ref[threading.RLock], Rank | None] = {}
_held: dict[int, list[list[threading.RLock]]] = {}  # thread -> for each fork that it has begun, its locks


def lock_held_by_fork(rank: Rank) -> threading.RLock:
    """Make a lock that a fork holds, so that the child finds what it guards complete.

    Reentrant. A thread may fork while it holds the lock; the child then holds it as well. For short steps,
    because `os.fork()` waits while another thread holds it.
    """
    return _enrol(threading.RLock(), rank)


def lock_left_behind() -> threading.RLock:
    """Make a lock that is free in a forked child, unless the thread that forked holds it.

    Reentrant. For long steps, because a fork does not wait for it. What it guards may be half-changed in the
    child.
    """
    return _enrol(threading.RLock(), None)


def is_held(lock: threading.RLock) -> bool:
    """Tell whether this thread holds a lock."""
    return lock._is_owned()  # type: ignore[attr-defined, no-any-return]  # as threading.Condition does


def _enrol(lock: threading.RLock, rank: Rank | None) -> threading.RLock:
    _locks[weakref.ref(lock, _locks.pop)] = rank
    return lock


_forking = lock_left_behind()  # the first one that a fork takes


def _hold() -> None:
    """Take the locks, before a fork. Waits without the GIL."""
    ranked = [(rank, each()) for each, rank in _locks.copy().items() if rank is not None]
    held: list[threading.RLock] = []
    _held.setdefault(threading.get_ident(), []).append(held)
    for lock in (_forking, *(lock for _, lock in sorted(ranked, key=lambda pair: pair[0]))):
        if lock is not None:
            held.append(lock)  # first, so an interrupt during the wait does not lose the lock
            lock.acquire()


def _release() -> None:
    me = threading.get_ident()
    held = _held[me].pop()
    if not _held[me]:
        del _held[me]
    for lock in reversed(held):
        with contextlib.suppress(RuntimeError):  # not held: the wait was interrupted
            lock.release()


def _release_in_child() -> None:
    """Release the locks, and also those held by threads that do not exist in the child."""
    _release()
    for each in _locks.copy():
        lock = each()
        if lock is None:
            continue
        if lock.acquire(blocking=False):
            lock.release()
        else:
            lock._at_fork_reinit()  # type: ignore[attr-defined]


os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release_in_child)
