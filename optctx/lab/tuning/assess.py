"""From compilations to trials: the figures of every objective, those that run something among them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from optctx.lab.experiment import Plan
from optctx.lab.outcome import Answer, trial_of
from optctx.lab.space import PASSES
from optctx.lab.trial import Trial
from optctx.lab.tuning.evaluate import Candidate
from optctx.lab.tuning.objectives import Found, Measure, Measured, Objective, Static


class Assessor:
    """Gives compilations their figures. Equal objects are run once."""

    def __init__(self, plan: Plan, objectives: Sequence[Objective]) -> None:
        self._plan = plan
        self._measured = [each for each in objectives if isinstance(each, Measured)]
        self._objectives = objectives
        self.base = b""
        """What is measured against."""
        self._measures: list[tuple[Measured, Measure]] = []
        self._found: dict[str, dict[str, Found]] = {}  # by digest and objective

    @property
    def measures(self) -> bool:
        """Whether anything is run."""
        return bool(self._measured)

    def measure_against(self, base: Answer) -> None:
        """Say what is measured against."""
        self.base = base.code
        self._measures = [(each, each.against(base.code)) for each in self._measured]

    def trials(self, compiled: Sequence[tuple[Candidate, Answer]]) -> list[Trial]:
        """The trials of compilations, in their order."""
        new = {
            answer.digest: answer.code
            for _, answer in compiled
            if answer.state == "ok" and answer.digest not in self._found
        }
        for objective, measure in self._measures if new else ():
            for digest, found in measure(new).items():
                self._found.setdefault(digest, {})[objective.goal.name] = found
        return [self._trial(candidate, answer) for candidate, answer in compiled]

    def know(self, trials: Iterable[Trial]) -> None:
        """Take what trials of an earlier run gave: their objects are not run again."""
        for trial in trials:
            found = {each.goal.name: self._known(trial, each.goal.name) for each in self._measured}
            # Of several objectives it is not kept which one a trial without figures is without.
            if trial.digest and (trial.state == "ok" or len(self._objectives) == 1):
                self._found.setdefault(trial.digest, found)

    @staticmethod
    def _known(trial: Trial, name: str) -> Found:
        attributes = {each: trial.attributes[each] for each in ("time",) if each in trial.attributes}
        return Found(trial.state, trial.objectives.get(name, math.nan), trial.error, attributes)

    def _trial(self, candidate: Candidate, answer: Answer) -> Trial:
        options = {name: text for name, text in candidate.point if name != PASSES}
        trial = trial_of(answer, candidate.number, options, passes=candidate.pipeline(self._plan))
        if answer.state != "ok":
            return trial
        attributes = dict(trial.attributes)
        figures = {}
        for objective in self._objectives:
            found = self._figure(objective, answer)
            attributes.update(found.attributes)
            if found.state != "ok":
                return replace(trial, state=found.state, error=found.error, attributes=attributes)
            figures[objective.goal.name] = found.figure
        return replace(trial, objectives=figures, attributes=attributes)

    def _figure(self, objective: Objective, answer: Answer) -> Found:
        if not isinstance(objective, Static):
            return self._found[answer.digest][objective.goal.name]
        try:
            figure = float(objective.figure(answer))
        except Exception as error:  # of a function of the caller's
            words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
            return Found("failed", error=words)
        if not math.isfinite(figure):
            return Found("failed", error=f"the objective {objective.goal.name!r} gave {figure}")
        return Found("ok", figure)
