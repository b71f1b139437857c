"""The executor of a Dask cluster, by its address: `--cluster`."""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from typing import Any, TypeAlias

from optctx.errors import OptctxError, shown
from optctx.lab.tuning.evaluate import end_helpers
from optctx.lab.tuning.workers import words_of

Client: TypeAlias = Any  # of distributed, which has few types

_CONNECTING = 10.0  # seconds
_ENDING = 5.0  # seconds for workers to end what they compile
_PATIENCE = 60.0  # seconds for a worker to come, where there is none


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """An executor on the Dask cluster whose scheduler has this address, such as "tcp://10.0.0.1:8786".

    Raises OptctxError without Dask, for a scheduler that does not answer, and for a cluster that stays
    without workers. What the workers compile is ended with the block.
    """
    client = _connect(address)
    try:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except Exception as error:
            raise OptctxError(
                f"the cluster at {address} has no worker ({words_of(error)}); start one with "
                f"`dask worker {address}`"
            ) from None
        yield _OfCluster(client)
    finally:
        with contextlib.suppress(Exception):  # of a cluster that is gone
            client.sync(client._run, end_helpers, callback_timeout=_ENDING)
        with contextlib.suppress(Exception):
            client.close(timeout=_CONNECTING)


class _OfCluster(Executor):
    """Dask's own executor, which is broken once its scheduler or all workers are gone.

    Dask gives work to the worker with the least to do, and one that refuses has the least.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._executor = client.get_executor(pure=False)
        self._barred: set[str] = set()
        self._seen = time.monotonic()  # when there was a worker last

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        try:
            workers = self._client.nthreads()
        except Exception as error:
            raise BrokenExecutor(f"its scheduler no longer answers: {words_of(error)}") from error
        if workers:
            self._seen = time.monotonic()
        elif time.monotonic() - self._seen > _PATIENCE:
            raise BrokenExecutor("the cluster has no worker left")
        usable = [address for address in workers if address not in self._barred]
        if self._barred and usable:
            named |= {"workers": usable, "allow_other_workers": True}
        future: Future[Any] = self._executor.submit(function, *arguments, **named)
        return future

    def bar(self, address: str) -> None:
        """Prefer other workers to this one."""
        self._barred.add(address)


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
