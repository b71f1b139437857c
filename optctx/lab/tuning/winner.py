"""The end of a search: the best is checked again, and loses what does not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from optctx.compiling import Job
from optctx.errors import Interrupted
from optctx.lab.outcome import Answer, Limits
from optctx.lab.reduce import reduce_options
from optctx.lab.space import PASSES, overrides_of
from optctx.lab.timing.bench import Interval, is_gain
from optctx.lab.trial import Trial
from optctx.lab.tuning.assess import Assessor, Candidate
from optctx.lab.tuning.objectives import Measure, RunTime, as_fast, interval_of

_CONFIRMED = 3  # trials that are checked again, until one is a gain


@dataclass
class Winner:
    """Finds it. `confirmation` and `options` are as in `Tuned.confirmation` and `Tuned.minimised`."""

    assessor: Assessor
    confirmation: dict[str, Any] | None = None
    options: dict[str, str] | None = None

    def confirm(self, trials: Iterable[Trial], objective: RunTime) -> None:
        """Check the best run times again, until one is a gain without doubt."""
        for place, (trial, first) in enumerate(_fastest(trials, objective.name)[:_CONFIRMED]):
            options, answer = None, self._compile(trial, overrides_of(trial.options))
            if answer.state == "ok":  # it may take too long this time
                measure = objective.against(answer.code)

                def keeps(one: Answer, measure: Measure = measure) -> bool:
                    return as_fast(measure({one.digest: one.code})[one.digest])

                options = self._fewest(trial, answer, keeps)
                answer = self._compile(trial, options)
            found = objective.confirm(self.assessor.base, answer.code, first, place + 1)
            if place == 0 or found.gain:
                self.confirmation = {"trial": trial.number, **asdict(found), "text": str(found)}
            if found.gain:
                self.options = options
                return

    def reduce(self, best: Trial) -> None:
        """Take options out of the best, for as long as its figure stays as good."""
        goal = self.assessor.objective.goal

        def as_good(answer: Answer) -> bool:
            (trial,) = self.assessor.assessed([(Candidate(best.number, ()), answer)])
            figures = best.objectives[goal.name], trial.objectives.get(goal.name)
            return figures[1] is not None and not goal.better(figures[0], figures[1])

        answer = self._compile(best, overrides_of(best.options))
        self.options = self._fewest(best, answer, as_good)

    def _fewest(self, trial: Trial, whole: Answer, good: Callable[[Answer], bool]) -> dict[str, str]:
        """The fewest options that are as good as all of a trial.

        `whole`: what all of them compile to. `good`: whether an answer is as good; it is not asked about an
        equal object.
        """
        options = overrides_of(trial.options)

        def keeps(job: Job) -> bool:
            answer = self._compile(trial, _as_options(job.options))
            return answer.state == "ok" and (answer.digest == whole.digest or good(answer))

        if whole.state != "ok" or not options:
            return options
        given = tuple(f"-{name}={text}" for name, text in options.items())
        job = replace(self.assessor.plan.jobs[0], options=given)
        try:
            reduced = reduce_options(job, keeps, values=False, limits=Limits(jobs=1))
        except Interrupted:  # what is left by then is no result of a search
            raise KeyboardInterrupt from None
        return _as_options(reduced.job.options)

    def _compile(self, trial: Trial, options: Mapping[str, str]) -> Answer:
        """With these options, and the pipeline of a trial."""
        self.assessor.submit(Candidate(trial.number, ((PASSES, trial.passes), *options.items())))
        (answer,) = self.assessor.answers()
        return answer


def _fastest(trials: Iterable[Trial], name: str) -> list[tuple[Trial, Interval]]:
    """Trials whose ratios are above 1 and above the noise, the fastest first; of equal objects one."""
    found: dict[str, tuple[Trial, Interval]] = {}
    for trial in trials:
        ratio, noise = (interval_of(trial, name) for name in ("ratio", "noise"))
        if trial.state == "ok" and ratio and noise and is_gain(ratio, noise):
            found.setdefault(trial.digest, (trial, ratio))
    return sorted(found.values(), key=lambda each: each[0].objectives[name])


def _as_options(arguments: Iterable[str]) -> dict[str, str]:
    """From "-name=value", as the reducer has them."""
    pairs = (each.removeprefix("-").partition("=") for each in arguments)
    return {name: value if equals else "true" for name, equals, value in pairs}
