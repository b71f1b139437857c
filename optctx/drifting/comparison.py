"""Finds changes of values that bypassed LLVM's parsers, by comparing with earlier ones, not too often."""

from __future__ import annotations

import time
from dataclasses import dataclass

from optctx._native import inside_if_free
from optctx.drifting.drift import refused
from optctx.engine.engine import Engine
from optctx.image.options import RegisteredOption
from optctx.locks import Rank, is_held, lock_held_by_fork
from optctx.values.states import OutsideStates, State, drifted_states, registered_state


class Allowance:
    """Allows `each_second` pieces of work a second, and `at_once` pieces in a row.

    Any number of threads can ask at once. Two that ask at the same moment may count as one.
    """

    def __init__(self, each_second: float, at_once: int) -> None:
        self._apart = 1 / each_second
        self._tolerance = (at_once - 0.5) * self._apart
        self._next = time.monotonic()  # when the next piece would be due at regular intervals

    def take(self) -> bool:
        """Return whether the work may be done now. If so, it counts as done."""
        now = time.monotonic()
        if now < self._next - self._tolerance:
            return False
        self._next = max(self._next, now) + self._apart
        return True


@dataclass(frozen=True)
class Difference:
    option: RegisteredOption
    before: State
    after: State


class Comparison:
    """The process-wide state of the options at the last comparison.

    A comparison never blocks: it finds nothing while another one is under way on any thread.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._busy = lock_held_by_fork(Rank.COMPARING)
        self._explained: dict[int, State] = {}  # states that were reported already
        self._refused = refused(engine)
        self._outside = OutsideStates(self._refused)
        self.begin_again()

    def begin_again(self) -> None:
        """Start from the state of this moment: earlier changes are not found any more."""
        self._explained.clear()
        self._drift = self._engine.space.drift()
        self._drifted = drifted_states(self._engine, self._drift)
        self._copy = self._outside.copy()
        self._states = self._outside.read(self._copy)

    def explain(self, option: RegisteredOption, state: State) -> None:
        """Take note that the next difference, if it is to this state of the option, was reported already."""
        self._explained[option.address] = state

    def differences(self) -> list[Difference]:
        """Find the changes since the last comparison, also those that were explained."""
        if is_held(self._busy):  # the collector calls LLVM in the middle of one
            return []
        return inside_if_free(self._busy, self._found) or []

    def _found(self) -> list[Difference]:
        return [*self._of_scoped(), *self._of_refused()]

    def _of_scoped(self) -> list[Difference]:
        """Find changes of options that contexts have storage for."""
        drift = self._engine.space.drift()
        if drift.is_same(self._drift):
            return []
        before, after = self._drifted, drifted_states(self._engine, drift)
        self._drift, self._drifted = drift, after
        found = []
        for address in {**before, **after}:
            option = self._engine.plan.options[address]
            registered = registered_state(self._engine, option)
            found.append(Difference(option, before.get(address, registered), after.get(address, registered)))
        return [each for each in found if each.before != each.after]

    def _of_refused(self) -> list[Difference]:
        """Find changes of refused options, without those of contexts with `process_wide="exclusive"`."""
        now = self._outside.copy()
        if now == self._copy:
            return []
        before, self._states, self._copy = self._states, self._outside.read(now), now
        return [
            Difference(each, before[each.address], self._states[each.address])
            for each in self._refused
            if before[each.address] != self._states[each.address]
        ]

    def was_explained(self, found: Difference) -> bool:
        """Tell whether a difference was reported already, and forget that it was."""
        return self._explained.pop(found.option.address, None) == found.after
