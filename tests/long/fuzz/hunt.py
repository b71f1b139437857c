"""Random cases of one target: which of them go wrong, where stock LLVM does not, and how small they get."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from random import Random
from typing import Any, Generic, TypeVar

from tests.long.fuzz.confined import Limits, Outcome, outcomes

C = TypeVar("C")

_TOGETHER = 25  # cases in one child
_TRIES = 300  # cases that are tried to make a finding smaller
_TRIES_OF_HANGS = 40  # each of them takes the time that a case may take


class Target(ABC, Generic[C]):
    """What is fuzzed."""

    name: str
    limits: Limits

    def prepare(self) -> None:
        """Do, before the first fork, everything once that opens files or imports modules."""

    @abstractmethod
    def make(self, random: Random) -> C: ...

    @abstractmethod
    def perform(self, case: C) -> str | tuple[str, Any]:
        """Run a case, in a confined child. Return one of FINE, or what is wrong; and what else to tell."""

    @abstractmethod
    def stock(self, case: C) -> C:
        """Return the same case without its hostile parts: stock LLVM at the same work."""

    def avoid(self, case: C) -> None:
        """From now on, make no case that is sure to end like this smallest one."""

    def learn(self, case: C, outcome: Outcome) -> None:
        """Take note of how a case has ended."""


@dataclass(frozen=True)
class Finding(Generic[C]):
    """The smallest cases that were found, of which the last one goes wrong, and how it ends."""

    cases: tuple[C, ...]
    outcome: Outcome

    def __str__(self) -> str:
        return "\n".join([str(self.outcome), *map(repr, self.cases)])


def less(given: Any) -> Iterator[Any]:
    """The value with less in it, the most drastic first. In a record, a text or a number stays, or becomes
    the default.
    """
    if isinstance(given, tuple):
        size = len(given)
        while size > 1:
            size = (size + 1) // 2
            yield from (given[:at] + given[at + size :] for at in range(0, len(given), size))
        for at, part in enumerate(given):
            yield from ((*given[:at], small, *given[at + 1 :]) for small in less(part))
    elif is_dataclass(given) and not isinstance(given, type):
        for each in fields(given):
            value = getattr(given, each.name)
            if each.default is not MISSING and each.default != value:
                yield replace(given, **{each.name: each.default})
            yield from (replace(given, **{each.name: small}) for small in less(value))


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
            cases = tuple(self.target.make(random) for _ in range(min(count, _TOGETHER)))
            count -= len(cases)
            for place, outcome in enumerate(self._outcomes(cases)):
                self.counts[outcome.kind] += 1
                self.target.learn(cases[place], outcome)
                if outcome.wrong:
                    self._judge(cases[: place + 1])

    def _judge(self, cases: tuple[C, ...]) -> None:
        """Find out whether the last case goes wrong alone, or else after the others in the same process."""
        wrong = next((tried for tried in (cases[-1:], cases) if self._last(tried).wrong), None)
        if wrong is None:
            self.counts["unsteady"] += 1
        elif (outcome := self._unexcused(wrong)) is not None:
            small, ended = self._smallest(wrong, outcome)
            self.findings.append(Finding(small, ended))
            if len(small) == 1:
                self.target.avoid(small[0])

    def _smallest(self, cases: tuple[C, ...], outcome: Outcome) -> tuple[tuple[C, ...], Outcome]:
        """Cases that end the same way, and of which no part can be left out."""
        smaller = less(cases)
        for _ in range(_TRIES_OF_HANGS if outcome.kind == "hangs" else _TRIES):
            if (tried := next(smaller, None)) is None:
                break
            ended = self._unexcused(tried)
            if ended is not None and ended.kind == outcome.kind:
                cases, outcome, smaller = tried, ended, less(tried)
        return cases, outcome

    def _unexcused(self, cases: Sequence[C]) -> Outcome | None:
        """How the last of the cases ends, if that is wrong and stock LLVM does not end so."""
        outcome = self._last(cases)
        if not outcome.wrong or self._last([self.target.stock(case) for case in cases]).excuses(outcome):
            return None
        return outcome

    def _last(self, cases: Sequence[C]) -> Outcome:
        return list(self._outcomes(cases))[-1]

    def _outcomes(self, cases: Sequence[C]) -> Iterator[Outcome]:
        return outcomes(cases, self.target.perform, self.target.limits)
