"""Where candidates are compiled: here in a helper process of this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Protocol

from optctx.lab.sweep.plan import Answer
from optctx.lab.sweep.process import SweepProcess
from optctx.lab.tuning.evaluate import Candidate, Setup, asked_of, plan_of, refuse

__all__ = ["BASE", "Evaluator", "LocalEvaluator", "fastest"]

BASE = Candidate(-1, ())


class Evaluator(Protocol):
    """Compiles candidates. A context manager."""

    def __enter__(self) -> Evaluator: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    def enough(self) -> int:
        """How many candidates under way keep it busy."""

    def base(self) -> Answer:
        """Compile with no option of the space set. Raises OptctxError for what LLVM does not take at all."""

    def submit(self, candidate: Candidate) -> None:
        """Have a candidate compiled."""

    def answers(self) -> list[Answer]:
        """Wait for at least one candidate that was submitted, under its number. Raises OptctxError if what
        compiles is gone."""


class LocalEvaluator:
    """Compiles on threads of a helper process, as a sweep does."""

    def __init__(self, setup: Setup, threads: int) -> None:
        self._setup = setup
        self._threads = threads
        self._plan = plan_of(setup, threads)
        self._process = SweepProcess()
        self._next = self._plan.total
        self._numbers: dict[int, int] = {}  # request -> candidate
        self._partial: dict[int, list[Answer]] = {}  # by candidate

    def __enter__(self) -> LocalEvaluator:
        self._process.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.__exit__(kind, error, trace)

    @property
    def enough(self) -> int:
        return 2 * self._threads

    def base(self) -> Answer:
        refuse(self._setup, self._process.prepare(self._plan))
        # Each pipeline's own: their time limits are relative to these.
        answers = {answer.number: answer for answer in self._process.compile(range(self._plan.total))}
        if self._setup.repeats > 1 and answers[0].state == "ok":
            self.submit(BASE)
            (answer,) = self._all()
            return answer
        return replace(answers[0], number=BASE.number)

    def submit(self, candidate: Candidate) -> None:
        self._partial[candidate.number] = []
        requests = [self._next + place for place in range(self._setup.repeats)]
        self._next += len(requests)
        self._numbers.update(dict.fromkeys(requests, candidate.number))
        self._process.ask(asked_of(self._setup, candidate, request) for request in requests)

    def answers(self) -> list[Answer]:
        return self._all()

    def _all(self) -> list[Answer]:
        whole: list[Answer] = []
        while not whole:
            for answer in self._process.answers():
                number = self._numbers.pop(answer.number)
                parts = self._partial[number]
                parts.append(answer)
                if len(parts) == self._setup.repeats:
                    del self._partial[number]
                    whole.append(replace(fastest(parts), number=number))
        return whole


def fastest(answers: Sequence[Answer]) -> Answer:
    """Of several compilations of one candidate: the first that went wrong, or else the fastest."""
    wrong = [answer for answer in answers if answer.state != "ok"]
    return wrong[0] if wrong else min(answers, key=lambda answer: answer.seconds)
