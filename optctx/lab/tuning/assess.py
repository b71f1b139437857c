"""The candidates of a search: a helper process compiles them, and this one gives them their figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from optctx.lab.experiment import Asked, Experiment, Plan
from optctx.lab.outcome import Answer, trial_of
from optctx.lab.space import PASSES, overrides_of
from optctx.lab.trial import Trial
from optctx.lab.tuning.objectives import Found, Measure, Measured, Objective


@dataclass(frozen=True)
class Candidate:
    """What one trial tries. `point`: (dimension, text of its value) for the dimensions that count."""

    number: int
    point: tuple[tuple[str, str], ...]

    @property
    def options(self) -> dict[str, str]:
        """What it sets."""
        return overrides_of(dict(self.point))

    def pipeline(self, plan: Plan) -> str:
        return dict(self.point).get(PASSES, plan.pipelines[0])


BASE = Candidate(-1, ())


class Assessor(Experiment):
    """Compiles candidates on threads of a helper process, as a sweep does, and measures on this machine.

    A context manager. Equal objects are run once.
    """

    def __init__(self, plan: Plan, objective: Objective) -> None:
        super().__init__()
        self.plan, self.objective = plan, objective
        self.base = b""
        """What is measured against."""
        self._measure: Measure = lambda objects: {}
        self._found: dict[str, Found] = {}  # by digest

    def begin(self) -> tuple[Answer, Trial]:
        """Compile with no option of the space set, and measure that. The trial may have no figure.

        Raises OptctxError for what LLVM does not take at all, and for a base that cannot be measured.
        """
        self.prepare(self.plan)
        answer, *_ = self.bases()  # each pipeline's own: their time limits are relative to these
        answer = replace(answer, number=BASE.number)
        if answer.state == "ok" and isinstance(self.objective, Measured):
            self.base, self._measure = answer.code, self.objective.against(answer.code)
        (trial,) = self.assessed([(BASE, answer)])
        return answer, trial

    def submit(self, candidate: Candidate) -> None:
        """Have a candidate compiled. `answers` has the answers under the numbers of candidates."""
        place = self.plan.pipelines.index(candidate.pipeline(self.plan))
        self.ask([(candidate.number, Asked(place, candidate.options))])

    def know(self, trials: Iterable[Trial]) -> None:
        """Take what trials of an earlier run gave: their objects are not run again."""
        for trial in trials:
            if trial.digest and isinstance(self.objective, Measured):
                figure = trial.objectives.get(self.objective.name, math.nan)
                times = {name: each for name, each in trial.attributes.items() if name == "time"}
                self._found.setdefault(trial.digest, Found(trial.state, figure, trial.error, times))

    def assessed(self, compiled: Sequence[tuple[Candidate, Answer]]) -> list[Trial]:
        """The trials of compilations, in their order."""
        new = {
            answer.digest: answer.code
            for _, answer in compiled
            if answer.state == "ok" and answer.digest not in self._found
        }
        if new:
            self._found |= self._measure(new)
        return [self._trial(candidate, answer) for candidate, answer in compiled]

    def _trial(self, candidate: Candidate, answer: Answer) -> Trial:
        options = {name: text for name, text in candidate.point if name != PASSES}
        goal, passes = self.objective.goal, candidate.pipeline(self.plan)
        if answer.state != "ok" or not isinstance(self.objective, Measured):
            return trial_of(answer, candidate.number, options, goal, passes=passes)
        trial, found = trial_of(answer, candidate.number, options, passes=passes), self._found[answer.digest]
        return replace(
            trial,
            state=found.state,
            objectives={goal.name: found.figure} if found.state == "ok" else {},
            error=found.error,
            attributes={**trial.attributes, **found.attributes},
        )
