"""Runs tasks in forked children, so that none ends this process, and no compilation follows another one."""

from __future__ import annotations

import os
import pickle
import resource
import selectors
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from optctx.errors import OptctxError

__all__ = ["Ended", "run_in_children"]

_WAIT = 0.5  # seconds between two looks at the clock


class Ended(NamedTuple):
    """How a task ended: its result, or why there is none."""

    name: str
    result: Any = None
    problem: str = ""


@dataclass
class _Child:
    name: str
    pid: int
    began: float
    data: bytearray = field(default_factory=bytearray)
    late: bool = False


def run_in_children(
    tasks: Iterable[tuple[str, Callable[[], object]]], *, jobs: int, seconds: float
) -> Iterator[Ended]:
    """Run each task in a child of this process, `jobs` at once; yield how each ended, in that order.

    A child sees this process as it is at that moment. What it prints is lost. It has `seconds` to end.
    Results are pickled. An OptctxError of a task is its problem; so are the signal and the limit that end a
    child. Call while this process has one thread.
    """
    waiting = iter(tasks)
    children: dict[int, _Child] = {}
    with selectors.DefaultSelector() as selector:
        try:
            while True:
                while len(children) < jobs and (task := next(waiting, None)) is not None:
                    reading, child = _start(*task, seconds)
                    children[reading] = child
                    selector.register(reading, selectors.EVENT_READ)
                if not children:
                    return
                for reading in _ready(selector, children):
                    selector.unregister(reading)
                    os.close(reading)
                    yield _ended(children.pop(reading), seconds)
                _stop_late(children, seconds)
        finally:
            for reading, child in children.items():  # the caller stopped asking
                os.close(reading)
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)


def _start(name: str, task: Callable[[], object], seconds: float) -> tuple[int, _Child]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return reading, _Child(name, pid, time.monotonic())
    try:
        _be_quiet(seconds)
        data = pickle.dumps(_result(task))
        while data:
            data = data[os.write(writing, data) :]
    finally:
        os._exit(0)


def _be_quiet(seconds: float) -> None:
    most = int(seconds) + 5
    resource.setrlimit(resource.RLIMIT_CPU, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _result(task: Callable[[], object]) -> tuple[object, str]:
    try:
        return task(), ""
    except OptctxError as error:
        return None, str(error)


def _ready(selector: selectors.BaseSelector, children: dict[int, _Child]) -> list[int]:
    """The pipes of children that have ended. Data of the others is kept."""
    ended = []
    for key, _ in selector.select(_WAIT):
        data = os.read(key.fd, 1 << 20)
        children[key.fd].data += data
        if not data:
            ended.append(key.fd)
    return ended


def _stop_late(children: dict[int, _Child], seconds: float) -> None:
    for child in children.values():
        if not child.late and time.monotonic() - child.began > seconds:
            child.late = True
            os.kill(child.pid, signal.SIGKILL)


def _ended(child: _Child, seconds: float) -> Ended:
    _, status = os.waitpid(child.pid, 0)
    if child.late:
        return Ended(child.name, problem=f"it took more than {seconds:g} seconds")
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return Ended(child.name, problem=f"LLVM died: {signal.Signals(-code).name}")
    if code > 0 or not child.data:
        return Ended(child.name, problem=f"LLVM ended the process with status {code}")
    result, problem = pickle.loads(bytes(child.data))
    return Ended(child.name, result, problem)
