"""Random cases of one target: which of them go wrong, where stock LLVM does not, and how small they get."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Generic, Protocol, TypeVar

from tests.long.fuzz.confined import Limits, Outcome, outcomes

__all__ = ["Finding", "Hunt", "Target", "fewer"]

C = TypeVar("C")
P = TypeVar("P")

_TOGETHER = 25  # cases in one child
_TRIES = 300  # cases that are tried to make a finding smaller
_TRIES_OF_HANGS = 40  # each of them takes the time that a case may take


class Target(Protocol[C]):
    """What is fuzzed."""

    name: str
    limits: Limits
    again: str  # a program that makes the target, and imports what the `repr` of a case names

    def prepare(self) -> None:
        """Does, before the first fork, everything once that opens files or imports modules."""

    def make(self, random: Random) -> C: ...
    def perform(self, case: C) -> str:
        """Runs a case, in a confined child. Returns one of FINE, or what is wrong."""

    def stock(self, case: C) -> C:
        """The same case without its hostile parts: stock LLVM at the same work."""

    def smaller(self, case: C) -> Iterator[C]:
        """The case with less in it, in many ways; the most drastic first."""

    def words(self, case: C) -> str:
        """One line of what is hostile in it."""

    def avoid(self, case: C) -> None:
        """From now on, makes no case that is sure to end like this smallest one."""


@dataclass(frozen=True)
class Finding(Generic[C]):
    """The smallest case that was found, and how it ends."""

    case: C
    outcome: Outcome
    words: str
    program: str
    before: int = 0  # how many cases have to run first, in the same process

    def __str__(self) -> str:
        after = f" after {self.before} other cases" if self.before else ""
        return f"{self.words}: {self.outcome}{after}\n{self.program.rstrip()}\n"


def fewer(given: tuple[P, ...]) -> Iterator[tuple[P, ...]]:
    """The parts without some of them: without halves first, then quarters, at last without single ones."""
    size = len(given)
    while size > 1:
        size = (size + 1) // 2
        for at in range(0, len(given), size):
            yield given[:at] + given[at + size :]


def program(target: Target[C], case: C) -> str:
    """A Python program that does the same, from the project's folder."""
    most = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # a number is shown whole
    try:
        return f"{target.again}\ntarget.prepare()\nprint(target.perform({case!r}))\n"
    finally:
        sys.set_int_max_str_digits(most)


@dataclass
class Hunt(Generic[C]):
    """Runs cases of a target; keeps count and what was found."""

    target: Target[C]
    findings: list[Finding[C]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def summary(self) -> str:
        """Counts of cases, without those that only make a finding smaller."""
        counts = (f"{count} {kind}" for kind, count in sorted(self.counts.items()))
        return f"{sum(self.counts.values())} cases, {', '.join(counts)}"

    def run_batch(self, seed: int, count: int) -> None:
        """`count` cases, which depend on nothing but the seed and what was found before."""
        random = Random(f"{self.target.name} {seed}")
        while count > 0:
            cases = [self.target.make(random) for _ in range(min(count, _TOGETHER))]
            count -= len(cases)
            for place, outcome in enumerate(self._outcomes(cases)):
                self._count(cases[place], outcome)
                if outcome.wrong:
                    self._judge(cases[place], outcome, cases[:place])

    def _count(self, case: C, outcome: Outcome) -> None:
        self.counts[outcome.kind] += 1

    def _judge(self, case: C, outcome: Outcome, before: Sequence[C]) -> None:
        if not self._last([case]).wrong:
            self._judge_together(case, [*before, case])
            return
        alone = self._unexcused(case)
        if alone is not None:
            small, ended = self._smallest(case, alone)
            self._found(small, ended)
            self.target.avoid(small)

    def _judge_together(self, case: C, cases: Sequence[C]) -> None:
        """What goes wrong only after other cases, in the same process."""
        outcome = self._last(cases)
        if not outcome.wrong:
            self.counts["unsteady"] += 1
        elif not self._last([self.target.stock(each) for each in cases]).excuses(outcome):
            self._found(case, outcome, before=len(cases) - 1)

    def _found(self, case: C, outcome: Outcome, before: int = 0) -> None:
        target = self.target
        self.findings.append(Finding(case, outcome, target.words(case), program(target, case), before))

    def _smallest(self, case: C, outcome: Outcome) -> tuple[C, Outcome]:
        """A case that ends the same way, and of which no part can be left out."""
        tries = iter(range(_TRIES_OF_HANGS if outcome.kind == "hangs" else _TRIES))
        smaller: Iterator[C] | None = self.target.smaller(case)
        while smaller is not None:
            candidates, smaller = smaller, None
            for candidate in candidates:
                if next(tries, None) is None:
                    break
                ended = self._unexcused(candidate, outcome.kind)
                if ended is not None:
                    case, outcome = candidate, ended
                    smaller = self.target.smaller(case)
                    break
        return case, outcome

    def _unexcused(self, case: C, kind: str = "") -> Outcome | None:
        """How a case ends by itself, if that is wrong (in this way) and stock LLVM does not end so."""
        outcome = self._last([case])
        if not outcome.wrong or (kind and outcome.kind != kind):
            return None
        return None if self._last([self.target.stock(case)]).excuses(outcome) else outcome

    def _last(self, cases: Sequence[C]) -> Outcome:
        return list(self._outcomes(cases))[-1]

    def _outcomes(self, cases: Sequence[C]) -> Iterator[Outcome]:
        return outcomes(cases, self.target.perform, self.target.limits)
