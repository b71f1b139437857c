"""Starts processes that the kernel ends with this one.

The kernel ends such a process when the thread that started it ends. So threads other than the main one leave
the starting to a thread that lives as long as this process.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import Any, TypeVar

from optctx.locks import lock_left_behind

__all__ = ["started_for_good"]

Started = TypeVar("Started")


class _Spawner:
    """The thread, once it is needed. A forked child makes its own."""

    def __init__(self) -> None:
        self._lock = lock_left_behind()
        self._orders: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] | None = None

    def start(self, start: Callable[[], Started]) -> Started:
        done: Future[Started] = Future()
        with self._lock:
            if self._orders is None:
                self._orders = SimpleQueue()
                threading.Thread(
                    target=_work, args=(self._orders,), name="optctx-spawner", daemon=True
                ).start()
            self._orders.put((start, done))
        return done.result()

    def forget(self) -> None:
        self._orders = None


def _work(orders: SimpleQueue[tuple[Callable[[], Any], Future[Any]]]) -> None:
    while True:
        start, done = orders.get()
        try:
            done.set_result(start())
        except BaseException as error:  # belongs to the thread that waits
            done.set_exception(error)
        del start, done


_spawner = _Spawner()
os.register_at_fork(after_in_child=_spawner.forget)


def started_for_good(start: Callable[[], Started]) -> Started:
    """What `start` returns, called on a thread that does not end before this process does."""
    if threading.current_thread() is threading.main_thread():
        return start()
    return _spawner.start(start)
