"""Workers of a Dask cluster. Each task is sent to one worker by its address, short ones in parcels.

Dask could choose by itself, but a task that waits beside one which ends its worker would count as a suspect,
and a worker that is refused would be asked again.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections import Counter, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, TypeAlias

from optctx.errors import OptctxError, shown
from optctx.lab.tuning.cluster.executor import words_of
from optctx.lab.tuning.cluster.parcels import Parcels
from optctx.lab.tuning.cluster.task import Expected, Mismatch, Reply, perform_all
from optctx.lab.tuning.cluster.workers import Result, Task, Workers
from optctx.lab.tuning.evaluate import end_helpers

Client: TypeAlias = Any  # of distributed, which has few types
Future: TypeAlias = Any

__all__ = ["DaskWorkers"]

_CONNECTING = 10.0  # seconds
_ENDING = 5.0  # seconds for workers to end what they compile
_PATIENCE = 60.0  # seconds for a worker to come, where there is none
_LOOK = 0.5  # seconds between two looks at which workers there are
_UNREAD = "Error during deserialization"  # how Dask's error of the scheduler begins
_GATHERING = 10.0  # seconds for an answer to be sent
_DEPTH = 2  # parcels for each thread of a worker, so that none waits for the next


class _CancelledError(Exception):
    """Of a task whose scheduler is gone, for instance. Dask says so by a state instead of an error."""


@dataclass
class _Running:
    tasks: list[Task]
    worker: str
    future: Future


class DaskWorkers(Workers):
    """Of the cluster whose scheduler has this address, such as "tcp://10.0.0.1:8786".

    Entering raises OptctxError without Dask, for a scheduler that does not answer, and for a cluster that
    stays without workers.
    """

    def __init__(self, address: str, expected: Expected) -> None:
        super().__init__(expected)
        self._address = address
        self._client: Client | None = None
        self._waiting: deque[Task] = deque()
        self._running: dict[str, _Running] = {}  # by Dask's key
        self._arrived: SimpleQueue[Future] = SimpleQueue()
        self._parcels = Parcels()
        self._there: set[str] = set()  # workers
        self._threads: dict[str, int] = {}  # of those that can be used
        self._barred: set[str] = set()  # workers that were refused
        self._looked = 0.0
        self._seen = 0.0  # when there was a worker last
        self._worked = False  # whether one was ever of use

    def __enter__(self) -> DaskWorkers:
        client = _connect(self._address)
        self._client = client
        try:
            self._wait_for_workers()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def _wait_for_workers(self) -> None:
        self._seen = time.monotonic()
        while not self._threads:
            self._look()
            time.sleep(0 if self._threads else 0.1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):  # of a cluster that is gone
                client.cancel([each.future for each in self._running.values()], force=True)
            self._running.clear()
            with contextlib.suppress(Exception):  # what they compile need not be waited for
                usable = list(self._threads)
                client.sync(client._run, end_helpers, workers=usable, callback_timeout=_ENDING)
            with contextlib.suppress(Exception):
                client.close(timeout=_CONNECTING)

    @property
    def count(self) -> int:
        return max(1, sum(self._threads.values()))

    def _start(self, task: Task) -> None:
        self._waiting.append(task)  # sent by `_ended`, with those that come before it

    def _ended(self) -> list[tuple[Hashable, Result]]:
        self._look()
        ended = self._losses()
        self._place()
        with contextlib.suppress(Empty):
            future = self._arrived.get(timeout=0 if ended else _LOOK)
            while True:
                ended += self._answers(future)
                future = self._arrived.get_nowait()
        self._place()
        return ended

    # Who is there

    def _look(self, again: bool = False) -> None:
        """Find out which workers there are, if that was not done just now, or `again`. Raises OptctxError for
        none.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK and not again:
            return
        assert self._client is not None
        try:
            found = self._client.nthreads()
        except Exception as error:
            raise self._gone(error) from error
        self._looked, self._there = now, set(found)
        self._threads = {name: count for name, count in found.items() if name not in self._barred and count}
        if self._threads:
            self._seen = now
            return
        barred = self._barred & self._there
        if barred and (not self._worked or now - self._seen > _PATIENCE):
            raise self._all_refused()
        if now - self._seen > _PATIENCE:
            raise OptctxError(
                f"the cluster at {self._address} has no worker left to use; start some, and go on with "
                "--resume if the search has a study"
            )

    def _gone(self, error: Exception) -> OptctxError:
        return OptctxError(
            f"the scheduler at {self._address} no longer answers ({words_of(error)}); start the search "
            "again, with --resume if it has a study"
        )

    def _losses(self) -> list[tuple[Hashable, Result]]:
        """The results of tasks that are not tried again, of those whose worker has gone."""
        ended: list[tuple[Hashable, Result]] = []
        for name, each in list(self._running.items()):
            if each.worker in self._there:
                continue
            del self._running[name]
            self._cancel(each.future)
            ended += self._lose_all(each, "it left the cluster")
        return ended

    def _lose_all(self, each: _Running, why: str) -> list[tuple[Hashable, Result]]:
        """The results of tasks that are not tried again, of a parcel whose worker is lost."""
        results = [(task, self._lose(task, f"worker {each.worker}", why)) for task in each.tasks]
        return self._kept(results)

    def _kept(self, results: Sequence[tuple[Task, Result | None]]) -> list[tuple[Hashable, Result]]:
        """These results under their keys. Tasks without one are tried again."""
        self._waiting.extend(task for task, result in results if result is None)
        return [(task.key, result) for task, result in results if result is not None]

    def _cancel(self, future: Future) -> None:
        with contextlib.suppress(Exception):
            future.cancel(force=True)

    # Who does what

    def _place(self) -> None:
        """Send tasks to the workers with the least to do.

        A task that has lost a worker runs alone, so that no other one is suspected with it; until such a task
        is sent, no others are.
        """
        if any(task.lost for task in self._waiting):
            self._look(again=True)  # one that has just died would count against a task that it never had
        running = Counter(each.worker for each in self._running.values())
        taken = {each.worker for each in self._running.values() if any(task.lost for task in each.tasks)}
        while self._waiting:
            suspects = [task for task in self._waiting if task.lost]
            places = {
                name: left
                for name, threads in self._threads.items()
                if name not in taken and (left := (1 if suspects else _DEPTH * threads) - running[name]) > 0
            }
            if not places:
                return
            worker = min(places, key=lambda name: running[name] / self._threads[name])
            if suspects:
                self._waiting.remove(suspects[0])
                parcel = suspects[:1]
                taken.add(worker)
            else:
                size = self._parcels.size(len(self._waiting), sum(places.values()))
                parcel = [self._waiting.popleft() for _ in range(size)]
            self._send(parcel, worker)
            running[worker] += 1

    def _send(self, parcel: list[Task], worker: str) -> None:
        assert self._client is not None
        works = [self._work(task) for task in parcel]
        try:
            future = self._client.submit(
                perform_all, self.expected, works, workers=[worker], allow_other_workers=False, pure=False
            )
        except Exception as error:
            raise self._gone(error) from error
        self._running[future.key] = _Running(parcel, worker, future)
        future.add_done_callback(self._arrived.put)

    def _answers(self, future: Future) -> list[tuple[Hashable, Result]]:
        """The results of what has ended, without those of what is tried again, or was given up before."""
        each = self._running.get(future.key)
        if each is None:
            return []
        replies, error = self._replies(future)
        if replies is None and error is None:
            self._looked = 0.0  # sent by a worker that may be gone: `_losses` knows
            future.add_done_callback(self._arrived.put)
            return []
        del self._running[future.key]
        if error is not None:
            return self._unfit(each, error)
        assert replies is not None
        results = []
        for task, reply in zip(each.tasks, replies, strict=True):
            results.append((task, self._judge(task, f"worker {each.worker} ({reply.worker})", reply)))
            if reply.mismatches:
                self._bar(each.worker)
            else:
                self._worked = True
                self._parcels.took(reply.seconds)
        return self._kept(results)

    def _replies(self, future: Future) -> tuple[list[Reply] | None, Exception | None]:
        """The replies, or what the worker raised, or neither."""
        try:
            if future.cancelled():
                return None, _CancelledError("Dask has cancelled it")
            if future.status == "error":
                return None, future.exception(timeout=_GATHERING)
            if future.status != "finished":
                return None, None
            return future.result(timeout=_GATHERING), None
        except (TimeoutError, asyncio.TimeoutError):  # two classes in Python 3.10
            return None, None
        except Exception as error:
            return None, error

    def _unfit(self, each: _Running, error: Exception) -> list[tuple[Hashable, Result]]:
        """Of a worker that cannot even begin, such as one without optctx; or one that Dask has given up."""
        from distributed import KilledWorker

        if isinstance(error, (KilledWorker, _CancelledError)):
            self._looked = 0.0
            self._threads.pop(each.worker, None)
            return self._lose_all(each, words_of(error))
        if str(error).startswith(_UNREAD):
            raise OptctxError(
                f"the scheduler at {self._address} cannot read what it is to hand on: install optctx there, "
                "with the Python and the Dask of this process"
            ) from error
        name = f"worker {each.worker}"
        self._refuse(name, (Mismatch("its environment", "one that runs optctx", words_of(error)),))
        self._bar(each.worker)
        for task in each.tasks:
            task.refusals += 1
        return self._kept([(task, None) for task in each.tasks])

    def _bar(self, worker: str) -> None:
        self._barred.add(worker)
        self._threads.pop(worker, None)
        self._looked = 0.0


def _connect(address: str) -> Client:
    """Raises OptctxError for an address that is none, or does not answer."""
    try:
        from distributed import Client
    except ImportError:
        raise OptctxError("cannot use a cluster without Dask: pip install 'optctx[cluster]'") from None
    if "://" not in address:
        raise OptctxError(
            f"expected the address of a Dask scheduler, such as tcp://10.0.0.1:8786, found {shown(address)}"
        )
    try:
        return Client(address, timeout=_CONNECTING, set_as_default=False)
    except Exception as error:
        why = words_of(error)
    # Dask leaves a client that did not connect in a circle, and its finalizer waits for Dask's loops. If the
    # garbage collector ran it later, on a thread that becomes such a loop, both would wait for ever.
    gc.collect()
    raise OptctxError(
        f"cannot connect to a Dask scheduler at {address}: {why}; start one with `dask scheduler`"
    )
