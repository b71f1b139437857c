"""What a strategy costs: throughput, latency, memory for each further set of options, start-up."""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from evidence.strategies.choosing import open_strategy
from evidence.strategies.strategy import Strategy
from optctx._native import trim_heap
from optctx.children.death import cause_of_end
from optctx.children.frames import Frames, decode, encode, messages, write_all
from optctx.children.python import python_command
from optctx.compiling import Job
from optctx.compiling.job import initialise_targets
from optctx.errors import OptctxError

_SETS = 8  # for latency and memory
_PARKED = 32  # sets that are in force together when their memory is looked at
_PARKED_IF_LARGE = 4  # where each has a library or a process of its own


@dataclass(frozen=True)
class Figures:
    """Of one strategy, in a process of its own that does nothing else.

    Attributes:
        start_up: Seconds from the start of that process until the strategy is open, Python and LLVM included.
        first: Seconds that the first compilation under a new set of options takes; median over the sets.
        later: Seconds that the second one under the same set takes; median.
        memory: Bytes of private memory for each further set that is in force, in all processes of the
            strategy. None where one set at a time can be.
        different, equal: Compilations per second, by the number of threads, where each thread has a set of
            its own, and where all have the same.
    """

    start_up: float
    first: float
    later: float
    memory: float | None
    different: Mapping[int, float] = field(default_factory=dict)
    equal: Mapping[int, float] = field(default_factory=dict)


class _Order(NamedTuple):
    strategy: str
    job: Job
    sets: tuple[tuple[str, ...], ...]
    threads: int
    seconds: float
    started: float


def figures_of(
    strategy: str, job: Job, sets: Sequence[tuple[str, ...]], *, threads: int, seconds: float
) -> Figures:
    """Measure a strategy in a new process, which takes `seconds` for each throughput.

    `sets`: at least as many as threads, and at least two. Raises OptctxError if the process ends early.
    """
    order = _Order(strategy, job, tuple(sets), threads, seconds, time.time())
    done = subprocess.run(
        python_command("from evidence.strategies.figures import main; main()"),
        input=encode(order),
        capture_output=True,
        check=False,
    )
    if done.returncode:
        why = cause_of_end(done.returncode, done.stderr.decode(errors="replace"))
        raise OptctxError(f"cannot measure {strategy!r}: {why}")
    [answer] = Frames().feed(done.stdout)
    return decode(answer, Figures)


def main() -> None:
    """Measure what standard input says, and print the figures."""
    (order,) = messages(0, _Order)
    job, sets = order.job, order.sets
    answers = os.dup(1)
    os.dup2(2, 1)
    initialise_targets()
    with open_strategy(order.strategy) as strategy:
        start_up = time.time() - order.started
        _compile(strategy, job, ())
        memory = _memory(strategy, job, sets[::-1]) if strategy.at_once else None  # before any is in use
        latencies = [_latencies(strategy, job, options) for options in sets[:_SETS]]
        counts = range(1, order.threads + 1)
        figures = Figures(
            start_up,
            statistics.median(first for first, _ in latencies),
            statistics.median(later for _, later in latencies),
            memory,
            {count: _throughput(strategy, job, sets[:count], order.seconds) for count in counts},
            {count: _throughput(strategy, job, [sets[0]] * count, order.seconds) for count in counts},
        )
    write_all(answers, encode(figures))


def _compile(strategy: Strategy, job: Job, options: tuple[str, ...]) -> None:
    result = strategy.compile(replace(job, options=options))
    if result.error is not None:
        raise SystemExit(f"{' '.join(options)}: {result.error}")


def _latencies(strategy: Strategy, job: Job, options: tuple[str, ...]) -> tuple[float, float]:
    times = []
    for _ in range(2):
        started = time.perf_counter()
        _compile(strategy, job, options)
        times.append(time.perf_counter() - started)
    return times[0], times[1]


def _throughput(strategy: Strategy, job: Job, sets: Sequence[tuple[str, ...]], seconds: float) -> float:
    """Compilations per second, with a thread for each of the sets."""
    counts = [0] * len(sets)
    ready: SimpleQueue[int] = SimpleQueue()
    begin: SimpleQueue[int] = SimpleQueue()

    def work(index: int) -> None:
        _compile(strategy, job, sets[index])  # what a first use takes is another figure
        ready.put(index)
        begin.get()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            _compile(strategy, job, sets[index])
            counts[index] += 1

    workers = [threading.Thread(target=work, args=(index,)) for index in range(len(sets))]
    for worker in workers:
        worker.start()
    _await(ready, workers)
    for index in range(len(sets)):
        begin.put(index)
    started = time.perf_counter()
    for worker in workers:
        worker.join()
    return sum(counts) / (time.perf_counter() - started)


def _memory(strategy: Strategy, job: Job, sets: Sequence[tuple[str, ...]]) -> float:
    """Bytes for each further set. Threads compile beforehand, because the allocator keeps what they free."""
    count = min(_PARKED_IF_LARGE if strategy.large else _PARKED, len(sets))
    # Beside a library or a process for each set, a thread is nothing.
    first = [sets[0]] * (1 if strategy.large else count)
    if not strategy.large:
        with _parked(strategy, job, sets[:count]):
            """As many threads as will be looked at."""
    with _parked(strategy, job, first):
        one = _private_bytes()
    with _parked(strategy, job, sets[:count]):
        return max(0.0, (_private_bytes() - one) / (count - 1))


@contextmanager
def _parked(strategy: Strategy, job: Job, sets: Sequence[tuple[str, ...]]) -> Iterator[None]:
    """Threads that have compiled inside a scope and stay in it."""
    inside: SimpleQueue[int] = SimpleQueue()
    done: SimpleQueue[int] = SimpleQueue()

    def park(options: tuple[str, ...]) -> None:
        with strategy.scope(options):
            _compile(strategy, job, ())
            inside.put(1)
            done.get()

    workers = [threading.Thread(target=park, args=(options,)) for options in sets]
    for worker in workers:
        worker.start()
    _await(inside, workers)
    try:
        yield
    finally:
        for _ in workers:
            done.put(1)
        for worker in workers:
            worker.join()


def _await(ready: SimpleQueue[int], workers: Sequence[threading.Thread]) -> None:
    """Wait until each worker has said that it is ready, or end the process if one of them has failed."""
    while ready.qsize() < len(workers):
        if not all(worker.is_alive() for worker in workers):
            os._exit(1)  # its traceback has been printed
        time.sleep(0.001)


def _private_bytes() -> int:
    """Memory that no other process shares, of this process and all that descend from it.

    What this process has freed is given back before: it is not a set's, and differs from run to run.
    """
    trim_heap()
    return sum(_of_process(pid) for pid in _family(os.getpid()))


def _family(pid: int) -> list[int]:
    children = [child for each in Path(f"/proc/{pid}/task").iterdir() for child in _children(each)]
    return [pid, *(each for child in children for each in _family(child))]


def _children(task: Path) -> list[int]:
    return [int(word) for word in (task / "children").read_text().split()]


def _of_process(pid: int) -> int:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(line.split()[1]) * 1024 for line in rollup.splitlines() if line.startswith("Private_"))
