"""One search on Dask clusters of one worker and of two, on this machine.

The sampler is `random`. The scheduler and the search share the processors with the workers, as they would
not on a real cluster. With a window of 8, as for samplers that learn, a worker of two waits for the other's
trials now and then; by default there is none.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from evidence.benchmarks._report import Report, spread
from evidence.benchmarks.tuning import OPTIONS, kernel_job
from optctx.compiling import Job
from optctx.lab.command.main import guarded
from optctx.lab.tuning import Limits, Search, Space, Study, parse_space, tune
from optctx.lab.tuning.dask import dask_executor

_TRIALS = 500
_RUNS = 3
_WINDOWS = {"a window of 8": 8, "default": None}


def main() -> int:
    report = Report("One search on a Dask cluster: two workers against one")
    job = kernel_job()
    space = parse_space(OPTIONS)
    for name, window in _WINDOWS.items():
        seconds: dict[int, list[float]] = {1: [], 2: []}
        studies = []
        for _ in range(_RUNS):
            for workers in seconds:  # in turn
                with _cluster(workers) as address:
                    _search(job, space, address, 2 * workers, window)  # each worker attaches
                    study = _search(job, space, address, _TRIALS, window)
                seconds[workers].append(study.seconds)
                studies.append([trial.objectives for trial in study.trials])
        for workers, each in seconds.items():
            line = f"{name}, {workers} worker(s), s for {_TRIALS} trials"
            report.line(line, spread(each).text())
        report.line(f"{name}: equal trials", str(all(each == studies[0] for each in studies)))
        ratio = spread(seconds[1]).median / spread(seconds[2]).median
        line = f"{name}: two workers / one, trials a second"
        report.line(line, f"{ratio:.2f}")
    return report.end()


def _search(job: Job, space: Space, address: str, trials: int, window: int | None) -> Study:
    search = Search("random", trials=trials, window=window)
    with dask_executor(address) as executor:
        return tune(job, space, search=search, limits=Limits(timeout=60.0), executor=executor)


@contextmanager
def _cluster(workers: int) -> Iterator[str]:
    """The address of a cluster with so many workers of one thread."""
    from distributed import Client

    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        file = Path(folder, "scheduler.json")
        words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        stack.enter_context(_running("distributed.cli.dask_scheduler", *words))
        while not file.exists():
            time.sleep(0.1)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            address = client.scheduler.address
            for _ in range(workers):
                words = [address, "--nthreads", "1", "--no-nanny", "--no-dashboard"]
                stack.enter_context(_running("distributed.cli.dask_worker", *words))
            client.wait_for_workers(workers)
        yield address


@contextmanager
def _running(module: str, *words: str) -> Iterator[None]:
    with subprocess.Popen(
        [sys.executable, "-m", module, *words],
        env={**os.environ, "PYTHONPATH": os.getcwd()},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.terminate()


if __name__ == "__main__":
    sys.exit(guarded(main))
