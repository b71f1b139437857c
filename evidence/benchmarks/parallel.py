"""Throughput of two threads with different options against one thread that does the same work.

Two processes do the same as well: how much faster two processors of this machine are than one, at best.

    python -m evidence.benchmarks.parallel            # of llvmlite's LLVM
    python -m evidence.benchmarks.parallel 22         # of a libLLVM, as `optctx.libllvm.open` takes it
"""

from __future__ import annotations

import multiprocessing
import queue
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from llvmlite import binding

from evidence.benchmarks._module import module_text
from evidence.benchmarks._report import Report, spread
from optctx import OptionContext
from optctx.compiling import Job, compile_job, initialise_targets
from optctx.compiling.job import image_of

_OPTIONS: tuple[dict[str, object], ...] = ({"unroll-count": 2}, {"unroll-count": 4, "inline-threshold": 500})
_JOBS = 3  # compilations for each of the two sets of options
_REPEATS = 9
_LIMIT = 1.8

Work = Callable[[], object]


class Ready(Protocol):
    """A barrier of threads or of processes."""

    def wait(self) -> int: ...


class Times(Protocol):
    """A queue between threads or between processes."""

    def put(self, item: float, /) -> None: ...


def main(path: str = "") -> int:
    report = Report("Two threads with different options against one")
    text = module_text()
    print(f"module    {len(text.splitlines())} lines of IR, default<O3>, object; {_JOBS} compilations each")
    initialise_targets()
    job = Job(text, opt_level=3, llvm=path)
    image = image_of(job.llvm)
    own = [_work(OptionContext(options, image=image), lambda: compile_job(job)) for options in _OPTIONS]
    ways = {
        "threads, optctx.run_passes and emit_object": (own, _threads),
        "processes (the best this machine can do)": (own, _processes),
    }
    if not path:
        locked = [_work(OptionContext(options), lambda: _llvmlite(text)) for options in _OPTIONS]
        ways["threads, llvmlite's own API (its lock)"] = locked, _threads
    ratios: dict[str, list[float]] = {name: [] for name in ways}
    _seconds(own)  # warm
    for _ in range(_REPEATS):  # in turn, so that other work on the machine meets all alike
        for name, (work, together) in ways.items():
            ratios[name].append(_seconds(work) / together(work))
    print("\nthroughput of two, as a multiple of one thread's")
    for name, found in ratios.items():
        report.line(f"two {name}", spread(found).text(1, 2))
    median = spread(ratios[next(iter(ways))]).median
    report.target("throughput of two threads, median", median, _LIMIT, " times", at_least=True)
    return report.end()


def _work(context: OptionContext, compile_once: Work) -> Work:
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


def _seconds(work: Sequence[Work]) -> float:
    """What one thread takes for all of it."""
    start = time.perf_counter()
    for each in work:
        each()
    return time.perf_counter() - start


def _threads(work: list[Work]) -> float:
    """A thread for each; what the slowest took, from the moment when all were ready."""
    ready = threading.Barrier(len(work))
    times: queue.SimpleQueue[float] = queue.SimpleQueue()
    threads = [threading.Thread(target=_share, args=(ready, times, each)) for each in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(times.get() for _ in work)


def _processes(work: list[Work]) -> float:
    """As `_threads`, in forked processes: warm from the start; no other thread is running when they fork."""
    fork = multiprocessing.get_context("fork")
    ready = fork.Barrier(len(work))
    times = fork.SimpleQueue()
    children = [fork.Process(target=_share, args=(ready, times, each)) for each in work]
    for child in children:
        child.start()
    slowest: float = max(times.get() for _ in work)
    for child in children:
        child.join()
    return slowest


def _share(ready: Ready, times: Times, work: Work) -> None:
    ready.wait()
    times.put(_seconds([work]))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
