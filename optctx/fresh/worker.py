"""The helper process of FreshProcess: it loads LLVM, sets no option, and forks a child for each job.

It has one thread and a selector, because forking is sound only in a process with one thread. A child writes
its Result to a pipe and dies. Whatever killed it, the worker sees the end of that pipe.
"""

from __future__ import annotations

import gc
import os
import resource
import selectors
import signal
import sys
import time
from dataclasses import dataclass, field, replace
from typing import NoReturn

from optctx.fresh.helper import address_space, cause_of_end, is_cut, is_of_machine, printed_to
from optctx.fresh.job import Death, Result, compile_unchecked, initialise_targets
from optctx.fresh.limits import lower_limit
from optctx.fresh.protocol import Decoder, Request, encode, write_all
from optctx.hosts.llvmlite.compiling import native_api
from optctx.process import set_process_options

__all__ = ["main"]

_CHUNK = 1 << 20  # bytes read at once
# Made beforehand: the process that writes it may get no memory to make it.
_OUT_OF_MEMORY = encode(Result(error="out of memory", died="killed"))


@dataclass
class _Child:
    request: Request
    pid: int
    result: int  # reading end of the pipe
    stderr: int  # memory file that takes both standard streams
    deadline: float  # time.monotonic()
    decoder: Decoder = field(default_factory=Decoder)
    answer: Result | None = None
    timed_out: bool = False


class Worker:
    """Reads requests from one descriptor, answers on another, and runs any number of children."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self._decoder = Decoder()
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, _Child] = {}  # by the reading end of their pipe

    def serve(self) -> None:
        """Work until the other side closes the pipe of requests, then kill the children that still run."""
        self._selector.register(self._requests, selectors.EVENT_READ)
        try:
            self._work()
        finally:
            for child in self._children.values():
                os.kill(child.pid, signal.SIGKILL)

    def _work(self) -> None:
        # Not in the `try` of its caller, which Python 3.13 forgets at the loop's end (design/interrupts.md).
        while self._step():
            pass

    def _step(self) -> bool:
        for key, _ in self._selector.select(self._patience()):
            if key.fd != self._requests:
                self._read_child(self._children[key.fd])
                continue
            data = os.read(self._requests, _CHUNK)
            if not data:
                return False
            for request in self._decoder.feed(data):
                self._start(request)
        self._kill_late()
        return True

    def _patience(self) -> float | None:
        deadlines = [child.deadline for child in self._children.values() if not child.timed_out]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _kill_late(self) -> None:
        now = time.monotonic()
        for child in self._children.values():
            if child.deadline <= now and not child.timed_out:
                child.timed_out = True
                os.kill(child.pid, signal.SIGKILL)

    def _start(self, request: Request) -> None:
        opened: list[int] = []
        try:
            opened += os.pipe()
            opened.append(os.memfd_create("stderr"))
            deadline = time.monotonic() + request.timeout
            pid = os.fork()
        except OSError as error:  # a limit of this machine
            for descriptor in opened:
                os.close(descriptor)
            self._answer(request, _lost(f"no process can be started for it: {error.strerror}"))
            return
        reading, writing, stderr = opened
        if not pid:
            os.close(self._answers)
            _child(request, writing, stderr)
        os.close(writing)
        self._children[reading] = _Child(request, pid, reading, stderr, deadline)
        self._selector.register(reading, selectors.EVENT_READ)

    def _answer(self, request: Request, result: Result) -> None:
        write_all(self._answers, encode((request.number, result)))

    def _read_child(self, child: _Child) -> None:
        data = os.read(child.result, _CHUNK)
        if data:
            for answer in child.decoder.feed(data):
                child.answer = answer
            return
        self._selector.unregister(child.result)
        del self._children[child.result]
        _, status = os.waitpid(child.pid, 0)
        printed = printed_to(child.stderr)
        cut = is_cut(child.stderr)
        os.close(child.result)
        os.close(child.stderr)
        answer = child.answer or Result(
            error=_epitaph(child, status, printed), died=_death(child, status, printed)
        )
        if cut and answer.died not in ("signal", "timeout"):
            answer = _lost("what LLVM prints is longer than a file may be here (ulimit -f)")
        self._answer(child.request, replace(answer, stderr=printed))


def _child(request: Request, writing: int, stderr: int) -> NoReturn:
    """In the forked child: compile, answer, and exit without clean-up."""
    try:
        write_all(writing, _answer(request, stderr))
    except MemoryError:  # from Python, or from operator new
        os.write(writing, _OUT_OF_MEMORY)
    finally:
        os._exit(0)


def _answer(request: Request, stderr: int) -> bytes:
    """Set the options process-wide, and compile."""
    try:
        # If the helper dies first, no process is left to stop a job that never ends.
        seconds = int(request.timeout) + 2
        lower_limit(resource.RLIMIT_CPU, seconds)
        if request.memory is not None:
            lower_limit(resource.RLIMIT_AS, address_space() + request.memory)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(stderr, 1)
        os.dup2(stderr, 2)
        set_process_options(request.job.options)
        return encode(compile_unchecked(request.job))
    except MemoryError:
        raise
    except BaseException as error:  # every error must become an answer: the parent waits for one
        return encode(_lost(f"{type(error).__name__}: {error}"))


def _lost(why: str) -> Result:
    return Result(error=f"the fresh process could not compile: {why}", died="lost")


def _death(child: _Child, status: int, printed: str) -> Death:
    if child.timed_out:
        return "timeout"
    if is_of_machine(cause_of_end(os.waitstatus_to_exitcode(status), printed)):
        return "killed"
    return "signal" if os.WIFSIGNALED(status) else "exit"


def _epitaph(child: _Child, status: int, printed: str) -> str:
    words = " ".join(printed.split())
    said = f": {words}" if words else ""
    if child.timed_out:
        return f"the fresh process took longer than {child.request.timeout:g} s and was stopped{said}"
    code = os.waitstatus_to_exitcode(status)
    if code < 0:
        return f"the fresh process was killed by {signal.Signals(-code).name}{said}"
    return f"the fresh process exited with status {code}{said}"


def main() -> int:
    """Serve requests from standard input, on the original standard output. No other code may write there."""
    answers = os.dup(1)
    os.dup2(2, 1)
    lower_limit(resource.RLIMIT_CORE, 0)  # a job that crashes is an answer, not a core file
    initialise_targets()
    native_api()  # looked up once here rather than in every child
    gc.freeze()  # children share these pages
    Worker(0, answers).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
