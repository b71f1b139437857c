"""`FreshProcess`: compiles every job from a clean state, with options set process-wide."""

from __future__ import annotations

import os
import subprocess
import threading
import weakref
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError  # the built-in one from 3.11 on

from optctx.errors import OptctxError
from optctx.fresh.helper import end_helper, start_helper
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
        self._ended = False
        self._owner = os.getpid()
        self._helper: subprocess.Popen[bytes] | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> FreshProcess:
        if self._helper is not None:
            raise OptctxError("this FreshProcess is running already; make another one")
        _running.add(self)
        self._helper = start_helper("optctx.fresh.worker", self._directory)
        self._ended = False
        self._owner = os.getpid()
        self._reader = threading.Thread(target=self._read, args=(self._helper,), daemon=True)
        self._reader.start()
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

    def compile(self, job: Job, *, timeout: float | None = None) -> Result:
        """Compile one job in a fresh process and wait for it. `timeout` (seconds) replaces the usual one.

        Every problem of the job itself, such as a processor that LLVM does not know, is a `Result.error`.
        Raises OptctxError if the helper is not running (outside the `with` block).
        """
        result = self._compile(job, timeout)
        problem = target_problem(self._compile, job) if is_suspect(job, result) else ""
        return Result(error=problem, seconds=result.seconds, stderr=result.stderr) if problem else result

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
            if number is None:
                return _helper_died(helper)
            try:
                write_all(helper.stdin.fileno(), encode(Request(number, job, seconds, self._memory)))
            except OSError:
                return _helper_died(helper)
        try:
            return answer.result(seconds + _GRACE)
        except FutureTimeoutError:
            return Result(error=f"the helper process did not answer within {seconds + _GRACE:g} s")

    def _forked(self) -> None:
        """Leave the helper to the parent, in a child of fork. The parent ends it by closing the only pipe."""
        helper, self._helper = self._helper, None
        if helper is None or helper.stdin is None or helper.stdout is None:
            return
        helper.returncode = 0  # it is not a child of this process
        helper.stdin.close()
        helper.stdout.close()

    def _expect(self, answer: Future[Result]) -> int | None:
        """Register a job that waits for an answer. Returns its number, or None if the helper has ended."""
        with self._state:
            if self._ended:
                return None
            number = self._next
            self._next += 1
            self._waiting[number] = answer
            return number

    def _read(self, helper: subprocess.Popen[bytes]) -> None:
        """Read answers until the helper closes its pipe. Runs on a thread of its own."""
        assert helper.stdout is not None
        with helper.stdout as answers:
            for number, result in received(answers.fileno()):
                with self._state:
                    waiting = self._waiting.pop(number)
                waiting.set_result(result)
        with self._state:
            self._ended = True
            left = list(self._waiting.values())
            self._waiting.clear()
        for waiting in left:
            waiting.set_result(_helper_died(helper))


def _leave_to_parent() -> None:
    for process in list(_running):
        process._forked()


_running: weakref.WeakSet[FreshProcess] = weakref.WeakSet()
os.register_at_fork(after_in_child=_leave_to_parent)


def _helper_died(helper: subprocess.Popen[bytes]) -> Result:
    try:
        status = f" with status {helper.wait(_GRACE)}"
    except subprocess.TimeoutExpired:
        status = ""
    return Result(error=f"the helper process ended{status} before it answered")
