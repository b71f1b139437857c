"""Runs a program: one operating system thread for each of its threads, one step at a time."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from dataclasses import replace
from queue import SimpleQueue

from evidence.strategies.program import Outcome, Program, Seen, Step, digest
from evidence.strategies.strategy import Strategy
from optctx.children.death import OF_MACHINE
from optctx.compiling import Job, Result
from optctx.compiling.job import compile_unchecked
from optctx.errors import OptctxError
from optctx.locks import lock_left_behind
from optctx.process import set_process_options

_LONGEST = 60.0  # seconds that a step may take before it counts as waiting for ever


class _LeavingError(Exception):
    """Leaves a scope."""


class _Thread:
    """Takes steps off its queue. `pending`: the steps that it was given and has not finished."""

    def __init__(self, run: _Run) -> None:
        self.run = run
        self.pending: list[int] = []
        self.waiting = False
        self.entered: list[AbstractContextManager[None]] = []
        self.worker: threading.Thread | None = None  # that does something for this thread, which waits for it
        self._queue: SimpleQueue[tuple[int, Step] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def give(self, index: int, step: Step) -> None:
        self.pending.append(index)
        self._queue.put((index, step))

    def is_me(self) -> bool:
        return threading.current_thread() in (self._thread, self.worker)

    def end(self) -> None:
        self._queue.put(None)

    def _work(self) -> None:
        while (given := self._queue.get()) is not None:
            index, step = given
            seen = self._take(index, step)
            with self.run.changed:
                if seen is not None:
                    self.run.seen.append(seen)
                self.pending.remove(index)
                self.waiting = False
                self.run.changed.notify_all()
            if step.action == "die":
                return

    def _take(self, index: int, step: Step) -> Seen | None:
        try:
            result = self._act(step)
        except _LeavingError:
            return None
        except Exception as error:  # of any kind: else the step would count as one that waits
            words = str(error) or type(error).__name__
            if isinstance(error, OSError | MemoryError):  # a limit of this machine
                self.run.unmade = words
            return Seen(index, error=words)
        if result is None:
            return None
        if result.end in OF_MACHINE:
            self.run.unmade = result.error or ""
        if result.error is not None:
            return Seen(index, error=result.error)
        return Seen(index, digest(result))

    def _act(self, step: Step) -> Result | None:
        strategy, job = self.run.strategy, self.run.job
        if step.action == "enter":
            scope = strategy.scope(step.options)
            scope.__enter__()
            self.entered.append(scope)
        elif step.action in ("leave", "fail") and self.entered:  # else entering was refused, which was seen
            error = _LeavingError() if step.action == "fail" else None
            self.entered.pop().__exit__(type(error) if error else None, error, None)
        elif step.action == "set":
            set_process_options(step.options, strategy.image)
        elif step.action == "compile":
            return strategy.compile(replace(job, options=step.options))
        elif step.action == "plain":
            return compile_unchecked(job)
        elif step.action == "tool":
            return strategy.run_tool(replace(job, options=step.options))
        elif step.action == "task":
            return self._hand_over(replace(job, options=step.options))
        return None

    def _hand_over(self, job: Job) -> Result:
        task = self.run.strategy.task(job)
        found: list[Result | OptctxError] = []

        def work() -> None:
            try:
                found.append(task())
            except OptctxError as error:
                found.append(error)

        self.worker = threading.Thread(target=work, daemon=True)
        self.worker.start()
        self.worker.join()
        if isinstance(found[0], OptctxError):
            raise found[0]
        return found[0]


class _Run:
    def __init__(self, strategy: Strategy, job: Job) -> None:
        self.strategy = strategy
        self.job = job
        self.seen: list[Seen] = []
        self.unmade = ""
        self.changed = threading.Condition(lock_left_behind())
        self.threads: dict[int, _Thread] = {}
        strategy.when_waiting = self._waits
        strategy.when_waking = self._wake

    def take(self, index: int, step: Step) -> None:
        """Give a step to its thread, and wait until every thread has done all it can."""
        thread = self.threads.get(step.thread)
        if thread is None:
            thread = self.threads[step.thread] = _Thread(self)
        thread.give(index, step)
        if step.action == "die" and not thread.waiting:
            del self.threads[step.thread]
        self.settle(thread)

    def settle(self, *more: _Thread) -> None:
        """Wait until no thread runs."""
        every = {*self.threads.values(), *more}
        with self.changed:
            self.changed.wait_for(lambda: all(not each.pending or each.waiting for each in every), _LONGEST)

    def _waits(self) -> None:
        with self.changed:
            for thread in filter(_Thread.is_me, self.threads.values()):
                thread.waiting = True
            self.changed.notify_all()

    def _wake(self) -> None:
        with self.changed:
            for thread in self.threads.values():
                thread.waiting = False


def run_program(strategy: Strategy, program: Program, job: Job) -> Outcome:
    """Run it, leave what is still entered, and look at what has changed for the process.

    Steps that wait for ever keep their threads: call this in a process that ends soon.
    """
    before = strategy.process_options()
    run = _Run(strategy, job)
    for index, step in enumerate(program):
        run.take(index, step)
    for thread in list(run.threads.values()):
        while thread.entered and not thread.pending:
            thread.give(-1, Step(0, "leave"))
            run.settle(thread)
    run.settle()
    waiting = sorted(index for thread in run.threads.values() for index in thread.pending if index >= 0)
    for thread in run.threads.values():
        thread.end()
    after = strategy.process_options()
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    return Outcome(tuple(sorted(run.seen)), tuple(changed), tuple(waiting), unmade=run.unmade)
