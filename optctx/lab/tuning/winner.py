"""The end of a search with one objective: the best is checked again, and loses what does not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from optctx.lab.space import PASSES, overrides_of
from optctx.lab.sweep.plan import Answer
from optctx.lab.timing.results import is_gain
from optctx.lab.trials import Goal, Trial
from optctx.lab.tuning.assess import Assessor
from optctx.lab.tuning.evaluate import Candidate
from optctx.lab.tuning.measured import RunTime, as_fast, interval_of
from optctx.lab.tuning.workers import Evaluator

__all__ = ["Winner", "minimised"]

_CONFIRMED = 3  # trials that are checked again, until one is a gain


@dataclass
class Winner:
    """Finds it. `varied`: pipelines are a dimension. `fewest`: options that do not matter are to be dropped.

    `confirmation` and `options` are as in `Study.confirmation` and `Study.minimised`.
    """

    evaluator: Evaluator
    assessor: Assessor
    goal: Goal
    base: bytes
    seed: int
    varied: bool
    fewest: bool
    confirmation: dict[str, Any] | None = None
    options: dict[str, str] | None = None

    def confirm(self, trials: Iterable[Trial], objective: RunTime) -> None:
        """Check the best run times again, until one is a gain without doubt."""
        for place, trial in enumerate(self._fastest(trials)[:_CONFIRMED]):
            options, answer = self._reduced(trial, objective)
            first = interval_of(trial, "ratio")
            assert first is not None, "one without is not among the fastest"
            found = self.evaluator.confirm(objective, self.base, answer.code, first, self.seed + place + 1)
            if place == 0 or found.gain:
                self.confirmation = {
                    "trial": trial.number,
                    "gain": found.gain,
                    "first": asdict(first),
                    "second": None if found.second is None else asdict(found.second),
                    "noise": asdict(found.noise),
                    "text": str(found),
                }
            if found.gain:
                self.options = options
                return

    def reduce(self, best: Trial) -> None:
        """Drop options from the best by figures of the compilation, if that is asked for."""
        if self.fewest:
            self.options, _ = self._drop(best, lambda answer: self._as_good(answer, best))

    def _fastest(self, trials: Iterable[Trial]) -> list[Trial]:
        """Trials whose intervals are above 1 and above the noise, the fastest first; of equal objects one."""
        found: dict[str, Trial] = {}
        for trial in trials:
            ratio, noise = (interval_of(trial, name) for name in ("ratio", "noise"))
            if trial.state == "ok" and ratio and noise and is_gain(ratio, noise):
                found.setdefault(str(trial.attributes.get("digest")), trial)
        return sorted(found.values(), key=lambda trial: trial.objectives[self.goal.name])

    def _reduced(self, trial: Trial, objective: RunTime) -> tuple[dict[str, str] | None, Answer]:
        """What a trial compiles to, with the fewest options if that was asked for."""
        whole = self._compile(trial, overrides_of(trial.options))
        if not self.fewest:
            return None, whole
        with self.evaluator.session(objective, whole.code) as measure:
            return self._drop(
                trial, lambda answer: as_fast(measure({answer.digest: answer.code})[answer.digest])
            )

    def _drop(self, trial: Trial, good: Callable[[Answer], bool]) -> tuple[dict[str, str], Answer]:
        options = overrides_of(trial.options)
        best = self._compile(trial, options)
        return minimised(options, best, lambda fewer: self._compile(trial, fewer), good)

    def _as_good(self, answer: Answer, best: Trial) -> bool:
        (trial,) = self.assessor.trials([(Candidate(best.number, ()), answer)])
        return trial.state == "ok" and not self.goal.better(
            best.objectives[self.goal.name], trial.objectives[self.goal.name]
        )

    def _compile(self, trial: Trial, options: Mapping[str, str]) -> Answer:
        """With these options, and the pipeline of a trial."""
        passes = ((PASSES, trial.passes),) if self.varied else ()
        self.evaluator.submit(Candidate(trial.number, (*passes, *options.items())))
        (answer,) = self.evaluator.answers()
        return answer


def minimised(
    options: Mapping[str, str],
    best: Answer,
    compile: Callable[[Mapping[str, str]], Answer],
    good: Callable[[Answer], bool],
) -> tuple[dict[str, str], Answer]:
    """The fewest options that are left when each that can be dropped is, and what they compile to.

    `best`: what all of them compile to. `compile`: compiles under some of them. `good`: whether what came out
    is as good as the best; it is not asked about an equal object. What is left stands on each of its options:
    without any one of them it is worse.
    """
    left, answer = dict(options), best
    again = True
    while again:
        again = False
        for name in list(left):
            fewer = {each: text for each, text in left.items() if each != name}
            without = compile(fewer)
            if without.state == "ok" and (without.digest == answer.digest or good(without)):
                left, answer, again = fewer, without, True
    return left, answer
