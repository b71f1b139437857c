"""A process in which programs run, so that whatever a strategy does there reaches nothing else.

Where a strategy compiles in its process, each program runs in a forked child of its own: strategies change
options for the process, wait for ever, and end it. Elsewhere one process runs them all.
"""

from __future__ import annotations

import os
import resource
from collections.abc import Sequence
from typing import NamedTuple

from evidence.strategies.choosing import open_strategy
from evidence.strategies.program import Outcome, Program
from evidence.strategies.running import run_program
from evidence.strategies.strategy import Strategy
from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.fresh import Job
from optctx.fresh.answering import AnsweringHelper
from optctx.fresh.helper import answers_of_helper, cause_of_end, end_with_parent, printed_to
from optctx.fresh.job import compile_unchecked, initialise_targets
from optctx.fresh.limits import lower_limit
from optctx.fresh.protocol import encode, received, write_all
from optctx.process import reset_process_options

__all__ = ["Host", "main"]

_GRACE = 30.0  # seconds that the helper may take to end
_SECONDS = 120  # of processor time that a program may take


class _Order(NamedTuple):
    strategy: str
    program: Program
    job: Job


class Host:
    """Runs programs over one strategy. A context manager; for one thread at a time."""

    def __init__(self, strategy: str, job: Job) -> None:
        """`job`: what every compilation of the programs compiles."""
        self.strategy = strategy
        self._job = job
        self._helper: AnsweringHelper | None = None
        self._stopped = False

    def __enter__(self) -> Host:
        self._helper = AnsweringHelper("evidence.strategies.host", _GRACE)
        if self._stopped:
            self._helper.kill()
        return self

    def __exit__(self, *error: object) -> None:
        helper, self._helper = self._helper, None
        if helper is not None:
            helper.close()

    def stop(self) -> None:
        """Kill the process and what it runs, from any thread."""
        self._stopped = True
        if (helper := self._helper) is not None:
            helper.kill()

    def run(self, program: Sequence[tuple[object, ...]] | Program) -> Outcome:
        """Run a program. Raises OptctxError if the process that runs programs has ended, or cannot run it."""
        if self._helper is None:
            raise OptctxError("this host is not running; use it inside its `with` block")
        order = _Order(self.strategy, tuple(program), self._job)  # type: ignore[arg-type]
        try:
            outcome: Outcome = self._helper.ask(order)
        except OptctxError as error:
            raise OptctxError(f"the process that runs {self.strategy!r} has ended: {error}") from None
        if outcome.unmade:
            raise OptctxError(f"a program cannot be run with {self.strategy!r}: {outcome.unmade}")
        return outcome


def main() -> None:
    """Answer orders on standard input until it ends."""
    answers = answers_of_helper()
    initialise_targets()
    strategy: Strategy | None = None
    try:
        for order in received(0):
            if strategy is None:
                strategy = open_strategy(order.strategy)
                _warm(strategy, order.job)
            outcome = _forked(order) if strategy.in_process else _run(strategy, order)
            write_all(answers, encode(outcome))
    finally:
        if strategy is not None and not strategy.in_process:
            strategy.__exit__(None, None, None)


def _warm(strategy: Strategy, job: Job) -> None:
    """Do once what every child would do again."""
    if not strategy.in_process:
        strategy.__enter__()
        return
    with strategy:  # what it looks up, it looks up once
        attach()
        compile_unchecked(job)


def _run(strategy: Strategy, order: _Order) -> Outcome:
    try:
        return run_program(strategy, order.program, order.job, judge_process=False)
    finally:
        if any(step.action == "set" for step in order.program):
            reset_process_options()  # this process runs the next program as well


def _forked(order: _Order) -> Outcome:
    """Run a program in a child. What ends the child is the outcome."""
    reading, writing = os.pipe()
    printed = os.memfd_create("printed")
    host = os.getpid()
    pid = os.fork()
    if not pid:
        end_with_parent(host)
        _child(order, writing, printed)
    os.close(writing)
    outcomes = list(received(reading))
    _, status = os.waitpid(pid, 0)
    said = printed_to(printed)
    os.close(reading)
    os.close(printed)
    if outcomes:
        found: Outcome = outcomes[0]
        return found
    return Outcome(death=cause_of_end(os.waitstatus_to_exitcode(status), said))


def _child(order: _Order, writing: int, printed: int) -> None:
    try:
        lower_limit(resource.RLIMIT_CPU, _SECONDS)
        os.dup2(printed, 1)
        os.dup2(printed, 2)
        with open_strategy(order.strategy) as strategy:
            outcome = run_program(strategy, order.program, order.job, judge_process=True)
            write_all(writing, encode(outcome))
    except OptctxError as error:
        write_all(writing, encode(Outcome(death=str(error))))
    except BaseException as error:  # becomes an answer: the parent waits for one
        write_all(writing, encode(Outcome(unmade=f"{type(error).__name__}: {error}")))
    finally:
        os._exit(0)
