"""After a crash: which of the jobs under way did it, and does it take company?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evidence.conformance.job import Job, Outcome
from evidence.conformance.scoped import Crash, Mode, run_scoped

_HISTORY = 200  # jobs before the crash that are run again with the suspects
_TRIES = 3


@dataclass(frozen=True)
class Blame:
    """One suspect of one crash. cause: alone, together (with the other jobs under way), history, unknown."""

    index: int
    how: str
    cause: str


def assign_blame(
    jobs: Sequence[Job], crashes: Sequence[Crash], mode: Mode, timeout: float
) -> tuple[list[Blame], dict[int, Outcome]]:
    """(who did it, outcomes of the suspects that did not, from runs of their own)."""
    blames: list[Blame] = []
    outcomes: dict[int, Outcome] = {}
    for crash in crashes:
        guilty = False
        for suspect in crash.running:
            run = run_scoped(jobs, [suspect], mode, threads=1, timeout=timeout)
            if run.crashes:
                blames.append(Blame(suspect, run.crashes[0].how, "alone"))
                guilty = True
            else:
                outcomes.update(run.outcomes)
        if not guilty:
            cause, suspects = _repeat(jobs, crash, mode, timeout)
            blames += [Blame(suspect, crash.how, cause) for suspect in suspects]
    return blames, outcomes


def _repeat(jobs: Sequence[Job], crash: Crash, mode: Mode, timeout: float) -> tuple[str, list[int]]:
    """(cause, suspects): where it crashes again, only those that are under way again stay suspects."""
    history = [*crash.finished[-_HISTORY:], *crash.running]
    for cause, order in (("together", crash.running), ("history", history)):
        for _ in range(_TRIES):
            run = run_scoped(jobs, order, mode, timeout=timeout)
            if run.crashes:
                again = {index for other in run.crashes for index in other.running}
                return cause, [index for index in crash.running if index in again] or crash.running
    return "unknown", crash.running
