"""Throughput of two threads with different options against one thread that does the same work.

Two processes do the same as well: how much faster two processors of this machine are than one, at best.
"""

from __future__ import annotations

import multiprocessing
import queue
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from llvmlite import binding

from evidence.benchmarks._module import module_text
from evidence.benchmarks._report import Report, Spread, spread
from optctx import OptionContext
from optctx.fresh import Job, compile_job, initialise_targets

_OPTIONS: tuple[dict[str, object], ...] = ({"unroll-count": 2}, {"unroll-count": 4, "inline-threshold": 500})
_JOBS = 3  # compilations for each of the two sets of options
_REPEATS = 9
_LIMIT = 1.8

Work = Callable[[], object]


class Ready(Protocol):
    """A barrier of threads or of processes."""

    def wait(self) -> int: ...


class Laps(Protocol):
    """A queue between threads or between processes."""

    def put(self, item: Lap, /) -> None: ...


@dataclass(frozen=True)
class Lap:
    """Seconds that a piece of work took, and how many of them its thread waited for a free processor."""

    seconds: float
    waited: float


def main() -> int:
    report = Report("Two threads with different options against one")
    text = module_text()
    print(f"module    {len(text.splitlines())} lines of IR, default<O3>, object; {_JOBS} compilations each")
    initialise_targets()
    own = [_work(options, lambda: compile_job(Job(text, opt_level=3))) for options in _OPTIONS]
    locked = [_work(options, lambda: _llvmlite(text)) for options in _OPTIONS]
    ways = {
        "threads, optctx.run_passes and emit_object": (own, _threads),
        "threads, llvmlite's own API (its lock)": (locked, _threads),
        "processes (the best this machine can do)": (own, _processes),
    }
    laps: dict[str, list[tuple[Lap, Lap]]] = {name: [] for name in ways}
    _one(own)  # warm
    for _ in range(_REPEATS):  # in turn, so that other work on the machine meets all alike
        for name, (work, together) in ways.items():
            laps[name].append((_one(work), together(work)))
    print("\nthroughput of two, as a multiple of one thread's")
    for name in ways:
        report.line(f"two {name}", _ratios(laps[name]).text(1, 2))
    print("the same, less the time that threads waited for a processor that other programs had")
    for name in ways:
        report.line(f"two {name}", _ratios(laps[name], corrected=True).text(1, 2))
    print("seconds: one thread, then two")
    for name in ways:
        one, two = (spread([pair[i].seconds for pair in laps[name]]).text(1, 2) for i in (0, 1))
        report.line(f"two {name}", f"{one}; {two}")
    median = _ratios(laps[next(iter(ways))]).median
    report.target("throughput of two threads, median", median, _LIMIT, " times", at_least=True)
    return report.end()


def _ratios(laps: list[tuple[Lap, Lap]], *, corrected: bool = False) -> Spread:
    part = int(corrected)
    return spread([(a.seconds - part * a.waited) / (b.seconds - part * b.waited) for a, b in laps])


def _work(options: dict[str, object], compile_once: Work) -> Work:
    context = OptionContext(options)

    def work() -> None:
        with context:
            for _ in range(_JOBS):
                compile_once()

    return work


def _llvmlite(text: str) -> bytes:
    machine = binding.Target.from_default_triple().create_target_machine(opt=3, codemodel="default")
    with binding.parse_assembly(text, binding.create_context()) as module:
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
        return machine.emit_object(module)  # type: ignore[no-any-return]


def _one(work: list[Work]) -> Lap:
    """One thread does all of it."""
    return _timed(lambda: [each() for each in work])


def _threads(work: list[Work]) -> Lap:
    """A thread for each; what the slowest took, from the moment when all were ready."""
    ready = threading.Barrier(len(work))
    laps: queue.SimpleQueue[Lap] = queue.SimpleQueue()
    threads = [threading.Thread(target=_share, args=(ready, laps, each)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _slowest([laps.get() for _ in work])


def _processes(work: list[Work]) -> Lap:
    """As `_threads`, in forked processes: warm from the start; no other thread is running when they fork."""
    fork = multiprocessing.get_context("fork")
    ready = fork.Barrier(len(work))
    laps = fork.SimpleQueue()
    children = [fork.Process(target=_share, args=(ready, laps, each)) for each in work]
    for child in children:
        child.start()
    found: list[Lap] = [laps.get() for _ in work]
    for child in children:
        child.join()
    return _slowest(found)


def _share(ready: Ready, laps: Laps, work: Work) -> None:
    ready.wait()
    laps.put(_timed(work))


def _slowest(laps: list[Lap]) -> Lap:
    """Until all were done, and until all would have been without waiting."""
    seconds = max(lap.seconds for lap in laps)
    return Lap(seconds, seconds - max(lap.seconds - lap.waited for lap in laps))


def _timed(work: Work) -> Lap:
    waited, start = _waited(), time.perf_counter()
    work()
    return Lap(time.perf_counter() - start, _waited() - waited)


def _waited() -> float:
    """Seconds that this thread was ready to run and had no processor, so far (Linux's schedstat)."""
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1]) * 1e-9


if __name__ == "__main__":
    sys.exit(main())
