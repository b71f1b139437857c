"""Who has to wait for whom: only compilations that share a native object.

An LLVMContext and everything in it may be used by one thread at a time, and so may a TargetMachine. Each
has a lock here, found by its address; modules in separate contexts with separate target machines never
meet.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from optctx._native import end_compilation
from optctx.context.binding import travelling
from optctx.context.scope import begin_compilation
from optctx.locks import Rank, lock_held_by_fork, lock_left_behind

__all__ = ["KeyedLocks", "compiling", "counted"]


class _Entry:
    """`users`: threads that hold the lock or wait for it, once for each time."""

    __slots__ = ("lock", "users")

    def __init__(self) -> None:
        self.lock = lock_left_behind()
        self.users: list[int] = []


class KeyedLocks:
    """Re-entrant locks by address; an entry lives only while some thread holds it or waits for it.

    Addresses are locked in ascending order, so two threads that want the same ones cannot block each other.
    """

    def __init__(self) -> None:
        self._guard = lock_held_by_fork(Rank.COMPILING)  # of the entries
        self._entries: dict[int, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    @contextmanager
    def holding(self, keys: Iterable[int]) -> Iterator[None]:
        """Hold the locks of all `keys`, addresses in this process, for the length of the `with` block."""
        ordered = sorted(set(keys))
        me = threading.get_ident()
        with self._guard:
            entries = [self._entries.setdefault(key, _Entry()) for key in ordered]
            for entry in entries:
                entry.users.append(me)
        held: list[_Entry] = []
        try:
            for entry in entries:
                entry.lock.acquire()
                held.append(entry)
            yield
        finally:
            for entry in reversed(held):
                entry.lock.release()
            with self._guard:
                for key, entry in zip(ordered, entries, strict=True):
                    entry.users.remove(me)
                    if not entry.users:
                        del self._entries[key]

    def forked(self) -> None:
        """In a child of fork: of the users only this thread lives on."""
        me = threading.get_ident()
        for key, entry in list(self._entries.items()):
            entry.users = [user for user in entry.users if user == me]
            if not entry.users:
                del self._entries[key]


_locks = KeyedLocks()
os.register_at_fork(after_in_child=_locks.forked)


@contextmanager
def compiling(context: int, target_machine: int | None, *, shared: bool) -> Iterator[None]:
    """Sole use of an LLVMContext and a target machine, by address, among optctx's own compilations.

    `shared` says that the context is LLVM's global one, which every user of llvmlite works in: llvmlite's
    own lock is held as well then, and comes last, because the garbage collector may take it at any moment
    to close a module. Do not compile in the global context from a callback that llvmlite runs under its
    lock.
    """
    with counted(), _sole_use(context, target_machine, shared=shared), travelling(context):
        yield


@contextmanager
def counted() -> Iterator[None]:
    """What the task is inside of holds here, and nobody changes options process-wide meanwhile."""
    begin_compilation("compile")
    try:
        yield
    finally:
        end_compilation()


@contextmanager
def _sole_use(context: int, target_machine: int | None, *, shared: bool) -> Iterator[None]:
    keys = [context] if target_machine is None else [context, target_machine]
    with _locks.holding(keys):
        if shared:
            from llvmlite.binding import ffi  # importing optctx works without llvmlite

            with ffi.lib._lock:
                yield
        else:
            yield
