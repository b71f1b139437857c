"""`FreshProcess`: compiles every job from a clean state, with options set process-wide."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # the built-in one from 3.11 on
from contextlib import suppress
from dataclasses import replace

from optctx.errors import OptctxError
from optctx.fresh.helper import end_helper, last_line, printed_to, start_helper
from optctx.fresh.job import Job, Result
from optctx.fresh.protocol import Request, encode, received, write_all
from optctx.fresh.targets import is_suspect, target_problem
from optctx.locks import lock_left_behind

__all__ = ["FreshProcess"]

_GRACE = 30.0  # seconds that the helper may take in addition to a job's own time


class FreshProcess:
    """Compiles jobs in fresh processes. Their output is the reference for threads inside a context.

    A context manager. The helper starts once, with LLVM loaded and no option set, and forks a child for
    each job. Nothing that a job does reaches another job or this process. A job that crashes, exits or takes
    too long has a `Result.error`. Any number of threads can call `compile`; their jobs run in parallel.
    """

    def __init__(
        self, *, timeout: float = 120.0, memory: int | None = None, directory: str | None = None
    ) -> None:
        """Start nothing yet.

        Args:
            timeout: Seconds that one job may take.
            memory: Bytes of address space that one job may take in addition to the helper's. LLVM ends the
                process if it gets no more. None is no limit.
            directory: Where jobs run and put temporary files, by default as this process.
        """
        self._timeout = timeout
        self._memory = memory
        self._directory = directory
        self._state = lock_left_behind()  # never held while writing: the reader needs it
        self._writing = lock_left_behind()
        self._waiting: dict[int, Future[Result]] = {}
        self._next = 0
        self._printed = -1  # memory file that takes the helper's standard error
        self._end: Result | None = None  # for jobs that come after the helper's end
        self._owner = os.getpid()
        self._helper: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> FreshProcess:
        if self._helper is not None:
            raise OptctxError("this FreshProcess is running already; make another one")
        _running.add(self)
        self._printed = os.memfd_create("printed")
        try:
            self._helper = start_helper("optctx.fresh.worker", self._directory, self._printed)
            self._end = None
            self._owner = os.getpid()
            self._reader = threading.Thread(target=self._read, args=(self._helper,), daemon=True)
            self._reader.start()
        except BaseException as error:
            self._leave()
            if isinstance(error, RuntimeError):  # no more threads are allowed here (ulimit -u, -v)
                raise OptctxError(f"cannot listen to a fresh process: {error}") from None
            raise
        return self

    def __exit__(self, *error: object) -> None:
        helper, reader = self._helper, self._reader
        if helper is None or reader is None:
            return
        assert helper.stdin is not None
        with self._writing:
            self._helper = None
            helper.stdin.close()  # tells the helper to stop
        end_helper(helper, _GRACE)
        reader.join()
        os.close(self._printed)

    def compile(self, job: Job, *, timeout: float | None = None) -> Result:
        """Compile one job in a fresh process and wait for it. `timeout` (seconds) replaces the usual one.

        Every problem of the job itself, such as a processor that LLVM does not know, is a `Result.error`.
        Raises OptctxError if the helper is not running (outside the `with` block).
        """
        result = self._compile(job, timeout)
        problem = target_problem(self._compile, job) if is_suspect(job, result) else None
        if problem is None or (problem.died is not None and result.error is not None):
            return result
        return replace(problem, seconds=result.seconds, stderr=result.stderr)

    def _compile(self, job: Job, timeout: float | None = None) -> Result:
        answer: Future[Result] = Future()
        seconds = self._timeout if timeout is None else timeout
        with self._writing:
            helper = self._helper
            if self._owner != os.getpid():
                raise OptctxError(
                    "this FreshProcess belongs to the process that this one was forked from; make another one"
                )
            if helper is None or helper.stdin is None:
                raise OptctxError("this FreshProcess is not running; use it inside its `with` block")
            number = self._expect(answer)
            with suppress(BrokenPipeError):  # the helper has ended; the reader answers
                write_all(helper.stdin.fileno(), encode(Request(number, job, seconds, self._memory)))
        try:
            return answer.result(seconds + _GRACE)
        except FutureTimeoutError:
            return _lost(f"the helper process did not answer within {seconds + _GRACE:g} s")

    def _forked(self) -> None:
        """Leave the helper to the parent, in a child of fork. The parent ends it by closing the only pipe."""
        if self._helper is not None:
            self._helper.returncode = 0  # it is not a child of this process
            self._reader = None
            self._leave()

    def _leave(self) -> None:
        """Close what leads to the helper. End it if it is a child of this process."""
        helper, self._helper = self._helper, None
        if helper is not None:
            assert helper.stdin is not None
            assert helper.stdout is not None
            helper.kill()
            helper.wait()
            if self._reader is not None and self._reader.is_alive():
                self._reader.join()
            helper.stdin.close()
            helper.stdout.close()
        os.close(self._printed)

    def _expect(self, answer: Future[Result]) -> int:
        """Register a job that waits for an answer. Answer now if the helper has ended. Returns its number."""
        with self._state:
            number = self._next
            self._next += 1
            if self._end is None:
                self._waiting[number] = answer
            else:
                answer.set_result(self._end)
            return number

    def _read(self, helper: subprocess.Popen[bytes]) -> None:
        """Read answers until the helper closes its pipe. Runs on a thread of its own."""
        assert helper.stdout is not None
        with helper.stdout as answers:
            for number, result in received(answers.fileno()):
                with self._state:
                    waiting = self._waiting.pop(number)
                waiting.set_result(result)
        end = _end_of(helper, self._printed)
        with self._state:
            self._end = end
            left = list(self._waiting.values())
            self._waiting.clear()
        for waiting in left:
            waiting.set_result(end)


def _leave_to_parent() -> None:
    for process in list(_running):
        process._forked()


_running: weakref.WeakSet[FreshProcess] = weakref.WeakSet()
os.register_at_fork(after_in_child=_leave_to_parent)


def _end_of(helper: subprocess.Popen[bytes], printed: int) -> Result:
    try:
        status = f" with status {helper.wait(_GRACE)}"
    except subprocess.TimeoutExpired:
        status = ""
    return _lost(f"the helper process ended{status} before it answered{last_line(printed_to(printed))}")


def _lost(error: str) -> Result:
    return Result(error=error, died="lost")
