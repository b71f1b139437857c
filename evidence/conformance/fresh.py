"""Jobs in fresh processes: a server that has LLVM loaded, and never attaches, forks a child for each.

The children of one server share its address layout, those with contexts (`scoped.py`) as well.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from evidence.conformance.job import Job, Outcome, compile_job, initialise
from evidence.conformance.library import judged_image
from optctx.children.death import Death
from optctx.children.messages import Limits
from optctx.children.pool import Call, Done, Pool, SharedPool, wait
from optctx.errors import EndedEarlyError
from optctx.process import set_process_options

T = TypeVar("T")
_AT_ONCE = 2
_TEXT = 300  # characters of what a child printed that are kept
_ALLOCATIONS = 1000


def prepared() -> None:
    """Prepare the server."""
    initialise()


POOL = SharedPool(prepared)


def run_fresh(
    tasks: Iterable[tuple[T, tuple[Any, ...]]], seconds: float, pool: Pool | None = None
) -> Iterator[tuple[T, Outcome]]:
    """Run each task in a child of its own; yield (its name, how it ended) as they end.

    `tasks`: (name, (function, its arguments after what the server has prepared)). `seconds`: for each.
    `pool`: by default, the one with the fresh processes of this process. Raises EndedEarlyError if the server
    is gone, or can start no process.
    """
    server = POOL.running() if pool is None else pool
    waiting = iter(tasks)
    calls: dict[Call[Outcome], T] = {}
    while True:
        for name, (function, *arguments) in islice(waiting, _AT_ONCE - len(calls)):
            calls[server.submit(function, *arguments, gives=Outcome, limits=Limits(seconds))] = name
        if not calls:
            return
        wait(calls)
        for call in [*calls]:
            if (done := call.done()) is not None:
                yield calls.pop(call), _outcome(done)


def _outcome(done: Done[Outcome]) -> Outcome:
    if done.death is None:
        return done.value or Outcome("rejected", text=done.error)
    if done.death.how == "lost" and not done.printed:  # where Python raises an error, it prints it
        raise EndedEarlyError(str(done.death))
    words = " ".join(done.printed.replace("\1", "").replace("\2", "").split())[:_TEXT]
    if done.death.how == "timed out":
        return Outcome("late", text=words)
    if done.death.status >= 0 and "\1" in done.printed and "\2" not in done.printed:
        return Outcome("rejected", text=words)
    raised = done.death.how == "lost"
    return Outcome("died", text=str(done.death) if raised else f"{cause_of(done.death)}: {words}")


def cause_of(death: Death) -> str:
    """The signal, or the status."""
    return signal.Signals(-death.status).name if death.status < 0 else f"status {death.status}"


def reference(_: None, job: Job) -> Outcome:
    """In a child: the job with its options process-wide."""
    return reference_after(job, lambda: None)


def reference_after(job: Job, before: Callable[[], object]) -> Outcome:
    """In a child: the options process-wide, then `before`, then the job."""
    os.write(2, b"\1")  # after a death: had LLVM taken the command line?
    if job.options:
        set_process_options(job.options, judged_image())
    before()
    os.write(2, b"\2")
    return compile_job(job)


def elsewhere(jobs: Sequence[Job], seconds: float, *, on_thread: bool) -> list[Outcome]:
    """The jobs as children of a new server; `on_thread`: in a second thread, whose heap is another."""
    function = reference_on_thread if on_thread else reference
    with Pool(prepared) as pool:
        outcomes = dict(run_fresh(((at, (function, job)) for at, job in enumerate(jobs)), seconds, pool))
    return [outcomes[at] for at in range(len(jobs))]


def reference_on_thread(_: None, job: Job) -> Outcome:
    """In a child: the job with its options process-wide, compiled by a second thread."""
    found: list[Outcome] = []

    def compile_elsewhere() -> None:
        kept = [bytes(64 + number % 512) for number in range(_ALLOCATIONS)]
        found.append(compile_job(job))
        del kept

    def start() -> None:
        thread = threading.Thread(target=compile_elsewhere)
        thread.start()
        thread.join()

    expected = reference_after(job, start)
    return found[0] if found else expected
