"""Runs tasks in forked children, so that none ends this process, and no compilation follows another one."""

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
from typing import Generic, TypeVar

from optctx.children.frames import write_all
from optctx.children.limits import lower_limit

__all__ = ["Ending", "endings"]

T = TypeVar("T")
_WAIT = 0.5  # seconds between two looks at the clock


@dataclass(frozen=True)
class Ending(Generic[T]):
    """How the child of a task ended.

    `status`: as `os.waitstatus_to_exitcode` has it. `data`: the pickled result, if it got so far. `said`:
    what it wrote on standard error. `late`: whether it was killed for the time that it took.
    """

    name: T
    status: int
    data: bytes
    said: bytes
    late: bool


@dataclass
class _Child(Generic[T]):
    name: T
    pid: int
    began: float
    stderr: int
    data: bytearray = field(default_factory=bytearray)
    late: bool = False


def endings(
    tasks: Iterable[tuple[T, Callable[[], object]]], *, jobs: int, seconds: float
) -> Iterator[Ending[T]]:
    """Run each task in a child of this process, `jobs` at once; yield how the child ended, in that order.

    A child sees this process as it is at that moment. It has `seconds` to end. Results are pickled. Call
    while this process has one thread.
    """
    waiting = iter(tasks)
    children: dict[int, _Child[T]] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while True:
                for name, task in itertools.islice(waiting, jobs - len(children)):
                    reading, child = _start(name, task, seconds)
                    children[reading] = child
                    selector.register(reading, selectors.EVENT_READ)
                if not children:
                    return
                for reading in _ready(selector, children):
                    selector.unregister(reading)
                    os.close(reading)
                    yield _ending(children.pop(reading))
                _stop_late(children, seconds)
        finally:
            for reading, child in children.items():  # the caller stopped asking
                os.close(reading)
                os.close(child.stderr)
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)


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


def _ending(child: _Child[T]) -> Ending[T]:
    _, status = os.waitpid(child.pid, 0)
    said = os.pread(child.stderr, os.fstat(child.stderr).st_size, 0)
    os.close(child.stderr)
    return Ending(child.name, os.waitstatus_to_exitcode(status), bytes(child.data), said, child.late)
