"""Names and values that a caller passes: to OptionContext and as command lines."""

from __future__ import annotations

import os
import shlex
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, given, seed, settings

from optctx.compiling import FreshProcess
from optctx.engine.attach import attach
from tests.long.fuzz.case import JOB, Case
from tests.long.fuzz.inputs import cases
from tests.long.fuzz.watched import Seen, Watched, attached

__all__ = ["Finding", "Fuzzer", "options_fuzzer"]

_HISTORY = 100  # cases that are named where one alone does not do it


class FindingError(Exception):
    """Something that no input may do."""


@dataclass
class Finding:
    """The smallest input that was found, and what it does; `history`: what ran before, if that matters."""

    case: Case
    words: str
    history: tuple[Case, ...] = ()

    def __str__(self) -> str:
        before = "".join(f"\n  after {case}" for case in self.history)
        return f"{self.case}: {self.words}{before}"


@dataclass
class Fuzzer:
    """Runs cases; keeps count and what was found."""

    watched: Watched
    fresh: FreshProcess
    findings: list[Finding] = field(default_factory=list)
    performed: int = 0
    made: int = 0
    compiled: int = 0
    _history: deque[Case] = field(default_factory=lambda: deque(maxlen=_HISTORY))

    def run_batch(self, number: int, count: int) -> None:
        """`count` cases from seed `number`; the first that is wrong is made small and becomes a finding."""
        last: Finding | None = None

        @seed(number)
        @settings(
            max_examples=count,
            deadline=None,
            database=None,
            derandomize=False,
            report_multiple_bugs=False,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        @given(cases())
        def check(case: Case) -> None:
            nonlocal last
            words = self.check(case)
            if words:
                last = Finding(case, words)
                raise FindingError(words)

        try:
            check()
        except FindingError:
            assert last is not None
            self.findings.append(last)

    def summary(self) -> str:
        """Counts of what ran."""
        return f"{self.performed} cases, {self.made} contexts, {self.compiled} compilations"

    def check(self, case: Case) -> str:
        """What is wrong with a case by itself. What is wrong only after others becomes a finding at once."""
        words = self._words(case, self.watched.run(case))
        if not words:
            self._history.append(case)
            return ""
        self.watched.restart()
        alone = self._words(case, self.watched.run(case, thoroughly=True))
        self.watched.restart()
        if not alone:
            self.findings.append(Finding(case, words, tuple(self._history)))
        self._history.clear()
        return alone

    def _words(self, case: Case, seen: Seen) -> str:
        """What is wrong, or an empty string."""
        self.performed += 1
        self.made += seen.report is not None and seen.report.made
        if seen.report is not None and seen.report.wrong:
            return seen.report.wrong
        if case.compile and (seen.stage == "compiling" or (seen.report and seen.report.result)):
            self.compiled += 1
            return self._compared(case, seen)
        if seen.report is None:
            return f"{seen.ended} while {seen.stage}; prints {seen.printed!r}"
        return f"prints {seen.printed!r}" if seen.printed else ""

    def _compared(self, case: Case, seen: Seen) -> str:
        """A compilation may die, hang or print if it does so in a fresh process with these options, too."""
        args = seen.report.args if seen.report else self._args(case)
        wanted = self.fresh.compile(replace(JOB, options=tuple(args)))
        stock = f"a fresh process with {shlex.join(args)!r} gives"
        if seen.report is None:
            if wanted.error is None:
                return f"{seen.ended} while compiling; {stock} code. It prints {seen.printed!r}"
            return ""
        if wanted != seen.report.result:
            return f"compiles to {seen.report.result!r}; {stock} {wanted!r}"
        if bool(wanted.stderr) != bool(seen.printed):
            return f"prints {seen.printed!r}; {stock} {wanted.stderr!r}"
        return ""

    def _args(self, case: Case) -> Sequence[str]:
        """The arguments of a case that did not survive its compilation."""
        seen = self.watched.run(replace(case, compile=False))
        assert seen.report is not None
        from optctx import OptionContext

        return OptionContext(case.overrides, base="defaults", process_wide=case.process_wide).args()


@contextmanager
def options_fuzzer(
    seconds: float, prepare: Callable[..., None] = attached, *arguments: str
) -> Iterator[Fuzzer]:
    """`seconds`: that a case may take. `prepare`: what the children find done."""
    attach()
    with ExitStack() as stack:
        # Findings are shown whole; the child has the usual limit.
        stack.callback(sys.set_int_max_str_digits, sys.get_int_max_str_digits())
        sys.set_int_max_str_digits(0)
        # A viewer that LLVM finds would be started, and print when other cases run.
        stack.enter_context(patch.dict(os.environ, PATH=""))
        watched = Watched(seconds, prepare, *arguments)
        yield Fuzzer(stack.enter_context(watched), stack.enter_context(FreshProcess()))
