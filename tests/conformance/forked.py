"""Jobs in fresh processes: this process, warm and with one thread, forks a child for each.

The children of one parent share its address layout. Nothing here attaches optctx to LLVM.
"""

from __future__ import annotations

import os
import pickle
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from optctx.fresh.options import set_process_options
from tests.conformance.job import Job, Outcome, compile_job, digest

__all__ = ["reference", "run_forked"]

T = TypeVar("T")
_PARALLEL = 2
_TEXT = 300  # characters of standard error that are kept


@dataclass
class _Child:
    pid: int
    began: float
    stderr: int
    data: bytearray = field(default_factory=bytearray)
    late: bool = False


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
    waiting = iter(tasks)
    selector = selectors.DefaultSelector()
    children: dict[int, tuple[T, _Child]] = {}
    exhausted = False
    while not exhausted or children:
        while len(children) < _PARALLEL and not exhausted:
            try:
                name, task = next(waiting)
            except StopIteration:
                exhausted = True
                break
            reading, child = _start(task, timeout)
            children[reading] = (name, child)
            selector.register(reading, selectors.EVENT_READ)
        for key, _ in selector.select(1.0):
            name, child = children[key.fd]
            data = os.read(key.fd, 1 << 20)
            if data:
                child.data += data
                continue
            selector.unregister(key.fd)
            os.close(key.fd)
            del children[key.fd]
            yield name, _ended(child, printed)
        for _, child in children.values():
            if time.monotonic() - child.began > timeout and not child.late:
                child.late = True
                os.kill(child.pid, signal.SIGKILL)


def _start(task: Callable[[], Outcome], timeout: float) -> tuple[int, _Child]:
    reading, writing = os.pipe()
    stderr = os.memfd_create("stderr")
    pid = os.fork()
    if pid:
        os.close(writing)
        return reading, _Child(pid, time.monotonic(), stderr)
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(timeout) + 5, int(timeout) + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(stderr, 2)
        data = pickle.dumps(task())
        while data:
            data = data[os.write(writing, data) :]
    finally:
        os._exit(0)


def _ended(child: _Child, printed: bool) -> Outcome:
    _, status = os.waitpid(child.pid, 0)
    said = os.pread(child.stderr, os.fstat(child.stderr).st_size, 0)
    os.close(child.stderr)
    if child.data:
        outcome: Outcome = pickle.loads(bytes(child.data))
        return replace(outcome, printed=digest(said.split(b"\2")[-1])) if printed else outcome
    words = " ".join(said.decode(errors="replace").replace("\1", "").replace("\2", "").split())[:_TEXT]
    if child.late:
        return Outcome("late", text=words)
    code = os.waitstatus_to_exitcode(status)
    if code > 0 and b"\1" in said and b"\2" not in said:
        return Outcome("rejected", text=words)
    how = signal.Signals(-code).name if code < 0 else f"status {code}"
    return Outcome("died", text=f"{how}: {words}")
