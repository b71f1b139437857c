"""Jobs inside OptionContexts, on several threads at once, in one child process that may crash.

The child tells when it begins and ends each job, so that after a crash the jobs under way are known; the
parent then goes on with the rest in a new child.
"""

from __future__ import annotations

import os
import pickle
import random
import selectors
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from evidence.conformance.job import Job, Machines, Outcome, compile_job
from optctx.children.frames import Frames, decode, encode, write_all

_TEXT = 400  # bytes of standard error that are kept


@dataclass
class Crash:
    """A child that died: the jobs under way, those it had finished, and how it died."""

    running: list[int]
    finished: list[int]
    how: str


@dataclass
class ScopedRun:
    """Outcomes by the index of the job, and crashes."""

    outcomes: dict[int, Outcome] = field(default_factory=dict)
    crashes: list[Crash] = field(default_factory=list)


class Mode:
    """How jobs are judged; set once, before any child is started."""

    spoil: bool = False  # spoil the process-wide values first
    audit: bool = False  # watch LLVM's own option storage; one thread
    record: bool = False  # note what LLVM reads
    machines: Machines | None = None  # of all jobs, where they share them


def scoped_outcome(job: Job) -> Outcome:
    """The job inside an OptionContext of its own, in this thread."""
    from optctx import OptionContext, ProcessWideOptionError
    from optctx.errors import OptionValueError

    try:
        context = OptionContext.from_args(list(job.options), base="defaults")
    except ProcessWideOptionError as error:
        return Outcome("refused", text=f"{error.name}: {error.reason}")
    except OptionValueError as error:
        return Outcome("rejected", text=str(error))
    if Mode.audit:
        from evidence.conformance.audited import compile_audited

        return compile_audited(job, context)
    if Mode.record:
        from evidence.conformance.recorded import compile_recorded

        return compile_recorded(job, context)
    with context:
        return compile_job(job, machines=Mode.machines)


def run_scoped(
    jobs: Sequence[Job],
    order: Iterable[int],
    *,
    threads: int = 2,
    timeout: float,
    progress: Callable[[int], None] | None = None,
) -> ScopedRun:
    """Runs jobs[i] for each i of `order`. After a death, the jobs that were under way are not run again."""
    threads = 1 if Mode.audit else threads
    run = ScopedRun()
    left = list(order)
    while left:
        crash = _run_child(jobs, left, threads, timeout, run, progress)
        if crash is None:
            break
        run.crashes.append(crash)
        done = {*crash.running, *run.outcomes}
        left = [index for index in left if index not in done]
        if not crash.running and not crash.finished:
            raise RuntimeError(f"the child for scoped jobs cannot start: {crash.how}")
    return run


def _run_child(
    jobs: Sequence[Job],
    order: list[int],
    threads: int,
    timeout: float,
    run: ScopedRun,
    progress: Callable[[int], None] | None,
) -> Crash | None:
    reading, writing = os.pipe()
    stderr = os.memfd_create("stderr")
    pid = os.fork()
    if not pid:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(stderr, 2)
        _child(jobs, order, threads, writing)
    os.close(writing)
    running, finished = _listen(reading, pid, timeout, run, progress)
    _, status = os.waitpid(pid, 0)
    said = os.pread(stderr, 1 << 16, max(0, os.fstat(stderr).st_size - _TEXT)).decode(errors="replace")
    os.close(stderr)
    os.close(reading)
    code = os.waitstatus_to_exitcode(status)
    if code == 0 and not running:
        return None
    how = signal.Signals(-code).name if code < 0 else f"status {code}"
    return Crash(sorted(running), finished, f"{how}: {' '.join(said.split())}")


def _listen(
    reading: int, pid: int, timeout: float, run: ScopedRun, progress: Callable[[int], None] | None
) -> tuple[set[int], list[int]]:
    running: dict[int, float] = {}
    finished: list[int] = []
    frames = Frames()
    selector = selectors.DefaultSelector()
    selector.register(reading, selectors.EVENT_READ)
    while True:
        if selector.select(1.0):
            read = os.read(reading, 1 << 20)
            if not read:
                return set(running), finished
            for body in frames.feed(read):
                index, outcome = pickle.loads(decode(body, bytes))
                if outcome is None:
                    running[index] = time.monotonic()
                    continue
                running.pop(index, None)
                run.outcomes[index] = outcome
                finished.append(index)
                if progress is not None:
                    progress(len(run.outcomes))
        now = time.monotonic()
        if any(now - began > timeout for began in running.values()):
            os.kill(pid, signal.SIGKILL)
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            return set(running), finished


def _child(jobs: Sequence[Job], order: list[int], threads: int, writing: int) -> NoReturn:
    """Attach, work through the jobs on all threads, die without clean-up."""
    lock = threading.Lock()
    rest = iter(order)

    def send(index: int, outcome: Outcome | None) -> None:
        write_all(writing, encode(pickle.dumps((index, outcome))))

    def work() -> None:
        while True:
            with lock:
                index = next(rest, None)
                if index is None:
                    return
                send(index, None)
            outcome = scoped_outcome(jobs[index])
            with lock:
                send(index, outcome)

    status = 1
    try:
        from evidence.conformance.spoil import spoil
        from optctx.engine.attach import attach

        attach()
        if Mode.spoil:
            spoil()
        sys.setswitchinterval(0.001)
        workers = [threading.Thread(target=work) for _ in range(threads)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        status = 0
    finally:
        os._exit(status)


def shuffled(count: int, seed: int) -> list[int]:
    """0 to count-1 in random order, the same for the same seed."""
    order = list(range(count))
    random.Random(seed).shuffle(order)
    return order
