"""A process for each compilation, or for each set of options: cold, forked from a warm one, kept."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import replace

from evidence.strategies.strategy import Strategy
from evidence.strategies.workers import Worker
from optctx.compiling import FreshProcess, Job, Result
from optctx.errors import OptctxError
from optctx.locks import lock_left_behind

_KEPT = 8  # workers that nothing uses


class _ProcessStrategy(Strategy):
    """Scopes are plain data here: what the next process gets as its command line."""

    source = "tvm-rfcs#83, the alternative of another process; MIOpen#2021"
    in_process = False
    large = True

    def run_tool(self, job: Job) -> Result:
        return self._compile(job)  # such a tool is a process of its own


class ForkServerStrategy(_ProcessStrategy):
    """A process with LLVM loaded forks a child for each compilation."""

    name = "process-forkserver"

    def __init__(self) -> None:
        super().__init__()
        self._fresh = FreshProcess()

    def __enter__(self) -> ForkServerStrategy:
        self._fresh.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._fresh.__exit__(*error)

    def _compile(self, job: Job) -> Result:
        return self._fresh.compile(job)


class ColdProcessStrategy(_ProcessStrategy):
    """Start an interpreter for each compilation, which loads LLVM, parses, compiles and ends."""

    name = "process-cold"

    def _compile(self, job: Job) -> Result:
        worker = Worker(job.options)
        try:
            return _compiled(worker, job)
        finally:
            worker.close()


class WarmProcessStrategy(_ProcessStrategy):
    """A worker process for each set of options, which parses them once and then compiles job after job.

    The workers used last are kept. A worker compiles one job at a time.
    """

    name = "process"

    def __init__(self) -> None:
        super().__init__()
        self._lock = lock_left_behind()
        self._free: OrderedDict[tuple[tuple[str, ...], int], Worker] = OrderedDict()
        self._started = 0

    def __exit__(self, *error: object) -> None:
        with self._lock:
            workers = list(self._free.values())
            self._free.clear()
        for worker in workers:
            worker.close()

    def _compile(self, job: Job) -> Result:
        worker = self._take(job.options)
        result = _compiled(worker, job)
        if result.end == "crashed":  # it has ended, and said why
            worker.close()
        else:
            self._give_back(worker)
        return result

    def _take(self, options: tuple[str, ...]) -> Worker:
        with self._lock:
            key = next((key for key in self._free if key[0] == options), None)
            if key is not None:
                return self._free.pop(key)
        return Worker(options)

    def _give_back(self, worker: Worker) -> None:
        with self._lock:
            self._started += 1
            self._free[worker.options, self._started] = worker
            late = [self._free.popitem(last=False)[1] for _ in range(len(self._free) - _KEPT)]
        for each in late:
            each.close()


def _compiled(worker: Worker, job: Job) -> Result:
    try:
        return worker.compile(replace(job, options=()))
    except OptctxError as error:
        return Result(error=str(error), end="crashed")
