"""The helper process of a sweep: it starts the processes that compile, and outlives them.

It has one thread and a selector, because forking is sound only in a process with one thread. It loads LLVM
and attaches optctx once; each worker is a fork. One worker compiles on threads. If it dies, each combination
that it was compiling is compiled again, alone in a process of its own, and another worker continues with the
rest. The same happens if a combination takes too long, once the other threads of its worker are done.
"""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import select
import selectors
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NoReturn

from optctx.context import attach
from optctx.fresh.helper import (
    answers_of_helper,
    cause_of_end,
    end_when_told,
    end_with_parent,
    printed_to,
)
from optctx.fresh.job import initialise_targets
from optctx.fresh.protocol import Decoder, encode, write_all
from optctx.lab.sweep.backlog import Backlog
from optctx.lab.sweep.plan import Answer, Asked, Plan, Ready, Started
from optctx.lab.sweep.worker import REQUEST, check, compile_alone, serve
from optctx.process import Attributes, native_api, set_process_options

__all__ = ["main"]

_CHUNK = 1 << 20  # bytes read at once
_MOST_BARREN = 3  # workers in a row that die without starting a combination


@dataclass
class _Child:
    pid: int
    requests: int  # writing end of the pipe; -1 for a combination alone
    answers: int  # reading end
    printed: int  # memory file that takes the standard streams
    alone: bool
    sent: dict[int, float | None] = field(default_factory=dict)  # unanswered: when a thread started it
    decoder: Decoder = field(default_factory=Decoder)
    late: set[int] = field(default_factory=set)  # combinations that take too long
    barren: bool = True  # no combination was started

    @property
    def running(self) -> list[int]:
        """The combinations that are being compiled."""
        return [number for number, started in self.sent.items() if started is not None]


class Supervisor:
    """Reads the numbers of combinations from one descriptor, has them compiled, and answers on another."""

    def __init__(self, plan: Plan, requests: int, answers: int) -> None:
        self._plan = plan
        self._requests = requests
        self._answers = answers
        self._decoder = Decoder()
        self._queue = Backlog(self._asked)
        self._beyond: dict[int, Asked] = {}  # unanswered requests that the plan does not have
        self._options = os.memfd_create("options")  # the same, for the workers
        self._places: dict[int, tuple[int, int]] = {}  # where each of them is
        self._selector = selectors.DefaultSelector()
        self._children: dict[int, _Child] = {}  # by the reading end of their pipe
        self._worker: _Child | None = None  # the one that gets requests
        self._barren = 0
        self._baselines = dict(plan.seconds)

    def serve(self) -> None:
        """Work until the other side closes the requests or sends STOP. Leave no process behind."""
        end_when_told(self._end_children)  # before this there is no process to leave
        try:
            write_all(self._answers, encode(Ready(tuple(map(self._check, range(len(self._plan.jobs)))))))
            self._selector.register(self._requests, selectors.EVENT_READ)
            self._work()
        finally:
            self._end_children()

    def _end_children(self) -> None:
        for child in self._children.values():
            with contextlib.suppress(OSError):  # it has been waited for
                os.kill(child.pid, signal.SIGKILL)
                os.waitpid(child.pid, 0)  # it would stay a zombie where the init process reaps none

    def _work(self) -> None:
        # Not in the `try` of its caller, which Python 3.13 forgets at the loop's end (design/interrupts.md).
        while self._step():
            pass

    def _step(self) -> bool:
        self._fill()
        for key, _ in self._selector.select(self._patience()):
            if key.fd != self._requests:
                self._read(self._children[key.fd])
                continue
            data = os.read(self._requests, _CHUNK)
            if not data:
                return False
            for requests in self._decoder.feed(data):
                self._queue.add([self._number(request) for request in requests])
        self._stop_late()
        return True

    def _number(self, request: int | Asked) -> int:
        """Enter a request that the plan does not have. Return the number of any."""
        if isinstance(request, int):
            return request
        text = pickle.dumps(request)
        self._beyond[request.number] = request
        self._places[request.number] = (os.lseek(self._options, 0, os.SEEK_END), len(text))
        write_all(self._options, text)
        return request.number

    def _asked(self, number: int) -> Asked:
        return self._beyond.get(number) or self._plan.asked(number)

    # Work

    def _fill(self) -> None:
        """Keep every processor busy. At most half of them compile suspects if other combinations wait."""
        if self._barren >= _MOST_BARREN:
            while self._queue.pending:
                self._queue.accuse(self._queue.next_pending())
        busy = sum(len(child.running) for child in self._children.values() if child is not self._worker)
        room = self._plan.threads - busy
        alone = sum(child.alone for child in self._children.values())
        most = max(1, self._plan.threads // 2) if self._queue.pending else self._plan.threads
        while room > 0 and alone < most and (number := self._queue.next_alone()) is not None:
            self._start_alone(number)
            room, alone = room - 1, alone + 1
        if room > 0 and self._queue.pending:
            if self._worker is None:
                self._worker = self._start_worker()
            # Some requests wait in the pipe, so no thread is idle. While suspects run, fewer threads work.
            most = 2 * room if room == self._plan.threads else room
            while self._queue.pending and len(self._worker.sent) < most:
                self._send(self._worker, self._queue.next_pending())

    def _send(self, child: _Child, number: int) -> None:
        child.sent[number] = None
        with contextlib.suppress(BrokenPipeError):  # it died; `_read` finds that out
            write_all(child.requests, REQUEST.pack(number, *self._places.get(number, (0, 0))))

    def _start_worker(self) -> _Child:
        requests, sending = os.pipe()
        child = self._fork(
            lambda answers, printed: serve(self._plan, requests, self._options, answers, printed),
            closing=sending,
        )
        os.close(requests)
        child.requests = sending
        return child

    def _start_alone(self, number: int) -> None:
        asked = self._asked(number)
        child = self._fork(lambda answers, printed: compile_alone(self._plan, asked, answers, printed))
        child.alone = True
        child.sent[number] = time.monotonic()

    def _fork(self, work: Callable[[int, int], NoReturn], closing: int | None = None) -> _Child:
        reading, writing = os.pipe()
        printed = os.memfd_create("printed")
        supervisor = os.getpid()
        pid = os.fork()
        if not pid:
            try:
                end_with_parent(supervisor)
                os.close(self._answers)
                if closing is not None:
                    os.close(closing)
                os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
                os.dup2(printed, 1)
                os.dup2(printed, 2)
                work(writing, printed)
            finally:
                os._exit(1)
        os.close(writing)
        child = _Child(pid, -1, reading, printed, alone=False)
        self._children[reading] = child
        self._selector.register(reading, selectors.EVENT_READ)
        return child

    # Answers

    def _read(self, child: _Child) -> None:
        data = os.read(child.answers, _CHUNK)
        if not data:
            self._bury(child)
            return
        for message in child.decoder.feed(data):
            if isinstance(message, Started):
                child.sent[message.number] = time.monotonic()
                child.barren = False
                self._barren = 0
            else:
                del child.sent[message.number]
                child.late.discard(message.number)
                self._finish(message)
        if child is not self._worker and not child.alone:
            self._stop_if_stuck(child)

    def _finish(self, answer: Answer) -> None:
        if answer.state in ("ok", "failed"):
            self._queue.survived(answer.number)
        else:
            self._queue.died(answer.number)
        job = self._asked(answer.number).job
        self._beyond.pop(answer.number, None)
        self._places.pop(answer.number, None)
        if answer.number == job and answer.state == "ok":
            self._baselines[job] = answer.seconds
        write_all(self._answers, encode(answer))

    def _bury(self, child: _Child) -> None:
        """After the end of a process: report what it compiled alone, or accuse what its threads compiled."""
        status, printed = self._reap(child)
        if child is self._worker:
            self._worker = None
        if child.alone:
            for number in child.sent:
                self._finish(self._obituary(number, number in child.late, status, printed))
            return
        self._barren += child.barren
        for number in reversed(child.running):
            self._queue.accuse(number)
        self._queue.give_back(number for number, started in child.sent.items() if started is None)

    def _reap(self, child: _Child) -> tuple[int, str]:
        """Wait for a process. Returns (exit status, what it printed)."""
        self._selector.unregister(child.answers)
        del self._children[child.answers]
        os.close(child.answers)
        if child.requests >= 0:
            os.close(child.requests)
        _, status = os.waitpid(child.pid, 0)
        printed = printed_to(child.printed)
        os.close(child.printed)
        return os.waitstatus_to_exitcode(status), printed

    def _obituary(self, number: int, late: bool, status: int, printed: str) -> Answer:
        if late:
            return Answer(number, "timed out", error=f"took longer than {self._limit(number):g} s")
        return Answer(number, "crashed", error=cause_of_end(status, printed))

    # Time limits

    def _limit(self, number: int) -> float:
        asked = self._asked(number)
        return asked.limit or self._plan.limit(self._baselines.get(asked.job))

    def _patience(self) -> float | None:
        deadlines = [
            started + self._limit(number)
            for child in self._children.values()
            for number, started in child.sent.items()
            if started is not None and number not in child.late
        ]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _stop_late(self) -> None:
        now = time.monotonic()
        for child in self._children.values():
            for number, started in child.sent.items():
                if started is None or number in child.late or started + self._limit(number) > now:
                    continue
                child.late.add(number)
                if child is self._worker:
                    self._worker = None  # its other threads finish what they have
            if child.late:
                self._stop_if_stuck(child)

    def _stop_if_stuck(self, child: _Child) -> None:
        """Kill a process that gets no more work if it compiles only late combinations."""
        if child.late.issuperset(child.running):
            os.kill(child.pid, signal.SIGKILL)

    # Checks before the sweep

    def _check(self, place: int) -> str:
        """The error that a job has under any options; "" for none."""
        child = self._fork(lambda answers, _: check(self._plan, place, answers))
        deadline = time.monotonic() + self._plan.limit(None)
        said: list[str] = []
        late = False
        while not late:
            late = not select.select([child.answers], [], [], max(0.0, deadline - time.monotonic()))[0]
            data = b"" if late else os.read(child.answers, _CHUNK)
            if not data:
                break
            said += child.decoder.feed(data)
        os.kill(child.pid, signal.SIGKILL)  # it was not waited for, so no other process has its pid
        status, printed = self._reap(child)
        if said:  # if the pipeline killed LLVM, the rows will say so
            return next(filter(None, said), "")
        cause = f"it took longer than {self._plan.limit(None):g} s" if late else cause_of_end(status, printed)
        return f"cannot read the module: the process that read it ended ({cause})"


def _attach(attributes: Attributes, *trust: str) -> None:
    """Attach with the settings of the calling process, which has issued the warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attach(attributes=attributes, trust=[each for each in trust if each] if trust else None)


def _next_frame(requests: int) -> Iterable[object]:
    decoder = Decoder()
    while data := os.read(requests, _CHUNK):
        if frames := decoder.feed(data):
            return frames
    return ()


def main() -> int:
    """Serve a plan, then batches of numbers, from standard input on the original standard output."""
    answers = answers_of_helper()
    initialise_targets()
    native_api()  # looked up once here rather than in every fork
    for plan in _next_frame(0):
        assert isinstance(plan, Plan)
        set_process_options(plan.arguments)
        _attach(*plan.attributes)  # type: ignore[arg-type]
        if plan.directory is not None:
            os.chdir(plan.directory)
            os.environ["TMPDIR"] = plan.directory
        gc.freeze()  # forks share these pages
        Supervisor(plan, 0, answers).serve()
    return 0


if __name__ == "__main__":
    sys.exit(main())
