"""Jobs in fresh processes: this process, warm and with one thread, forks a child for each.

The children of one parent share its address layout. Nothing here attaches optctx to LLVM.
"""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from evidence.conformance.job import Job, Outcome, compile_job, digest
from evidence.forked_children import Ending, endings
from optctx.process import set_process_options

__all__ = ["reference", "run_forked"]

T = TypeVar("T")
_PARALLEL = 2
_TEXT = 300  # characters of standard error that are kept


def reference(job: Job, before: Callable[[], None] | None = None) -> Outcome:
    """To be run in a forked child: the options process-wide, then `before`, then the job."""
    os.write(2, b"\1")  # after a death: had LLVM taken the command line?
    if job.options:
        set_process_options(job.options)
    if before is not None:
        before()
    os.write(2, b"\2")
    return compile_job(job)


def run_forked(
    tasks: Iterable[tuple[T, Callable[[], Outcome]]], timeout: float, *, printed: bool = False
) -> Iterator[tuple[T, Outcome]]:
    """Runs each task in a child of its own; yields (its name, how it ended) in order of ending.

    `printed`: outcomes name what the job wrote on standard error, too.
    """
    for ending in endings(tasks, jobs=_PARALLEL, seconds=timeout):
        yield ending.name, _outcome(ending, printed)


def _outcome(ending: Ending[T], printed: bool) -> Outcome:
    said = ending.said
    if ending.data:
        outcome: Outcome = pickle.loads(ending.data)
        return replace(outcome, printed=digest(said.split(b"\2")[-1])) if printed else outcome
    words = " ".join(said.decode(errors="replace").replace("\1", "").replace("\2", "").split())[:_TEXT]
    if ending.late:
        return Outcome("late", text=words)
    if ending.status > 0 and b"\1" in said and b"\2" not in said:
        return Outcome("rejected", text=words)
    how = signal.Signals(-ending.status).name if ending.status < 0 else f"status {ending.status}"
    return Outcome("died", text=f"{how}: {words}")
