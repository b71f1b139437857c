"""Jobs in fresh processes: this process, warm and with one thread, forks a child for each.

The children of one parent share its address layout. Nothing here attaches optctx to LLVM.
"""

from __future__ import annotations

import itertools
import os
import pickle
import resource
import selectors
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from evidence.conformance.job import Job, Outcome, compile_job
from optctx.children.frames import write_all
from optctx.children.limits import lower_limit
from optctx.process import set_process_options

T = TypeVar("T")
_PARALLEL = 2
_WAIT = 0.5  # seconds between two looks at the clock
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
    tasks: Iterable[tuple[T, Callable[[], Outcome]]], timeout: float
) -> Iterator[tuple[T, Outcome]]:
    """Runs each task in a child of its own; yields (its name, how it ended) in order of ending.

    A child sees this process as it is at that moment: tasks are closures, so `optctx.children` cannot take
    them. It has `timeout` seconds to end. Call while this process has one thread.
    """
    waiting = iter(tasks)
    children: dict[int, _Child[T]] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while True:
                for name, task in itertools.islice(waiting, _PARALLEL - len(children)):
                    reading, child = _start(name, task, timeout)
                    children[reading] = child
                    selector.register(reading, selectors.EVENT_READ)
                if not children:
                    return
                for reading in _ready(selector, children):
                    selector.unregister(reading)
                    os.close(reading)
                    child = children.pop(reading)
                    yield child.name, _outcome(child)
                _stop_late(children, timeout)
        finally:
            for reading, child in children.items():  # the caller stopped asking
                os.close(reading)
                os.close(child.stderr)
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)


def ask_child(work: Callable[[], T]) -> T:
    """What the work gives in a child, of which nothing else stays. Raises RuntimeError if it fails."""
    [(_, found)] = run_forked([(0, cast(Any, work))], timeout=600.0)
    if isinstance(found, Outcome):
        raise RuntimeError(f"a child failed: {found.text}")
    return cast(T, found)


@dataclass
class _Child(Generic[T]):
    name: T
    pid: int
    began: float
    stderr: int
    data: bytearray = field(default_factory=bytearray)
    late: bool = False


def _outcome(child: _Child[T]) -> Outcome:
    status = os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1])
    said = os.pread(child.stderr, os.fstat(child.stderr).st_size, 0)
    os.close(child.stderr)
    if child.data:
        outcome: Outcome = pickle.loads(child.data)
        return outcome
    words = " ".join(said.decode(errors="replace").replace("\1", "").replace("\2", "").split())[:_TEXT]
    if child.late:
        return Outcome("late", text=words)
    if status > 0 and b"\1" in said and b"\2" not in said:
        return Outcome("rejected", text=words)
    how = signal.Signals(-status).name if status < 0 else f"status {status}"
    return Outcome("died", text=f"{how}: {words}")


def _start(name: T, task: Callable[[], object], seconds: float) -> tuple[int, _Child[T]]:
    reading, writing = os.pipe()
    stderr = os.memfd_create("stderr")
    pid = os.fork()
    if pid:
        os.close(writing)
        return reading, _Child(name, pid, time.monotonic(), stderr)
    try:
        _be_quiet(seconds, stderr)
        write_all(writing, pickle.dumps(task()))
        os._exit(0)
    except BaseException:  # its last line becomes the problem
        os.write(stderr, traceback.format_exc().encode())
    finally:
        os._exit(1)


def _be_quiet(seconds: float, stderr: int) -> None:
    lower_limit(resource.RLIMIT_CPU, int(seconds) + 5)
    lower_limit(resource.RLIMIT_CORE, 0)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    os.dup2(stderr, 2)


def _ready(selector: selectors.BaseSelector, children: dict[int, _Child[T]]) -> list[int]:
    """The pipes of children that have ended. Data of the others is kept."""
    ended = []
    for key, _ in selector.select(_WAIT):
        data = os.read(key.fd, 1 << 20)
        children[key.fd].data += data
        if not data:
            ended.append(key.fd)
    return ended


def _stop_late(children: dict[int, _Child[T]], seconds: float) -> None:
    for child in children.values():
        if not child.late and time.monotonic() - child.began > seconds:
            child.late = True
            os.kill(child.pid, signal.SIGKILL)
