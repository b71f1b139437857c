"""Jobs inside OptionContexts, on several threads at once, in one child process that may crash.

The child tells when it begins and ends each job, so that after a crash the jobs under way are known; the
parent then goes on with the rest in a new child.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, NoReturn

from evidence.conformance import fresh
from evidence.conformance.job import Job, Machines, Outcome, SharedMachines, compile_job, refusal
from evidence.conformance.library import judged_image
from evidence.conformance.spoil import spoil
from optctx import OptionContext, ProcessWideOptionError
from optctx.children.child import Channel
from optctx.children.messages import Limits, decode
from optctx.children.pool import Child, wait
from optctx.engine.attach import attach
from optctx.errors import EndedEarlyError, OptionValueError

_LOOK = 1.0  # seconds between two looks at the clock
_TEXT = 400  # characters of what a child printed that are kept


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


class _Told(NamedTuple):
    """What the child says of a job, by its number: that it begins, or its outcome."""

    job: int
    outcome: Outcome | None


@dataclass(frozen=True)
class Mode:
    """How jobs are judged."""

    spoil: bool = False  # spoil the process-wide values first
    audit: bool = False  # watch LLVM's own option storage; one thread
    record: bool = False  # note what LLVM reads
    shared_machines: bool = False  # one target machine for all jobs that can share it


def scoped_outcome(job: Job, mode: Mode, machines: Machines | None) -> Outcome:
    """The job inside an OptionContext of its own, in this thread."""
    try:
        context = OptionContext.from_args(list(job.options), base="defaults", image=judged_image())
    except ProcessWideOptionError as error:
        return refusal(error)
    except OptionValueError as error:
        return Outcome("rejected", text=str(error))
    if mode.audit:
        from evidence.conformance.audited import compile_audited

        return compile_audited(job, context)
    if mode.record:
        from evidence.conformance.recorded import compile_recorded

        return compile_recorded(job, context)
    with context:
        return compile_job(job, machines=machines)


def run_scoped(
    jobs: Sequence[Job],
    order: Iterable[int],
    mode: Mode,
    *,
    threads: int = 2,
    timeout: float,
    progress: Callable[[int], None] | None = None,
) -> ScopedRun:
    """Runs jobs[i] for each i of `order`. After a death, the jobs that were under way are not run again.

    Raises EndedEarlyError if the server is gone, or can start no process.
    """
    run = ScopedRun()
    left = list(order)
    while left:
        crash = _run_child(jobs, left, mode, 1 if mode.audit else threads, timeout, run, progress)
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
    mode: Mode,
    threads: int,
    timeout: float,
    run: ScopedRun,
    progress: Callable[[int], None] | None,
) -> Crash | None:
    given = [(at, jobs[at]) for at in order], threads, mode
    child = Child(fresh.POOL.running(), work, given, Limits())
    running: dict[int, float] = {}
    finished: list[int] = []
    while (end := child.death) is None:
        wait([child], _LOOK)
        for said in child.hear():
            index, outcome = decode(said, _Told)
            if outcome is None:
                running[index] = time.monotonic()
                continue
            running.pop(index, None)
            run.outcomes[index] = outcome
            finished.append(index)
            if progress is not None:
                progress(len(run.outcomes))
        if any(time.monotonic() - began > timeout for began in running.values()):
            child.kill()
    if end.how == "lost":
        raise EndedEarlyError(str(end))
    if end.status == 0 and not running:
        return None
    words = " ".join(end.printed[-_TEXT:].split())
    return Crash(sorted(running), finished, f"{fresh.cause_of(end)}: {words}")


def work(_: None, channel: Channel, jobs: list[tuple[int, Job]], threads: int, mode: Mode) -> NoReturn:
    """In the child: attach, work through the jobs on all threads, die without clean-up."""
    lock = threading.Lock()
    rest = iter(jobs)
    machines = SharedMachines() if mode.shared_machines else None

    def work_through() -> None:
        while True:
            with lock:
                index, job = next(rest, (-1, None))
                if job is None:
                    return
                channel.send(_Told(index, None))
            outcome = scoped_outcome(job, mode, machines)
            with lock:
                channel.send(_Told(index, outcome))

    status = 1
    try:
        attach(judged_image())
        if mode.spoil:
            spoil()
        sys.setswitchinterval(0.001)
        workers = [threading.Thread(target=work_through) for _ in range(threads)]
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
