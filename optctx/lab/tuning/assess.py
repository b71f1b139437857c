"""The candidates of a search: a helper process compiles them, and this one gives them their figures.

At the end the best is checked again, and loses what does not matter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from optctx.compiling import Job
from optctx.errors import Interrupted
from optctx.lab.experiment import Experiment, Plan
from optctx.lab.outcome import Answer, Limits, trial_of
from optctx.lab.reduce import reduce_options
from optctx.lab.space import overrides_of
from optctx.lab.timing.bench import is_gain
from optctx.lab.trial import Goal, Trial
from optctx.lab.tuning.objectives import Measured, RunTime, interval_of

_CONFIRMED = 3  # trials that are checked again, until one is a gain
_SAME = 0.99  # the ratio, and the end of its interval, of what is as fast
_SURELY = 0.97


class Assessor(Experiment):
    """Compiles candidates on threads of a helper process, as a sweep does, and measures on this machine.

    A context manager. Equal objects are run once. `confirmation` and `fewest` are as in `Tuned.confirmation`
    and `Tuned.minimised`.
    """

    def __init__(self, plan: Plan, goal: Goal, measured: Measured | None) -> None:
        super().__init__(plan)
        self.goal, self.measured = goal, measured
        self.confirmation: dict[str, Any] | None = None
        self.fewest: dict[str, str] | None = None
        self._base_code = b""
        self._found: dict[str, Trial] = {}  # by digest

    def begin(self) -> tuple[Answer, Trial]:
        """Compile with no option of the space set, and measure that. The trial may have no figure.

        Raises OptctxError for a base that cannot be measured.
        """
        answer = self.compile_base()
        self._base_code = answer.code
        (trial,) = self.assessed([({}, answer)])
        return answer, trial

    def know(self, trials: Iterable[Trial]) -> None:
        """Take what trials of an earlier run gave: their objects are not run again."""
        for trial in trials:
            if trial.digest:
                self._found.setdefault(trial.digest, trial)

    def assessed(self, compiled: Sequence[tuple[Mapping[str, str], Answer]]) -> list[Trial]:
        """The trials of options and what they compiled to, in their order."""
        if self.measured is None:
            return [trial_of(answer, options, self.goal) for options, answer in compiled]
        new = {
            answer.digest: answer.code
            for _, answer in compiled
            if answer.state == "ok" and answer.digest not in self._found
        }
        if new:
            self._found |= self.measured.measure(self._base_code, new)
        return [self._measured_trial(options, answer) for options, answer in compiled]

    def _measured_trial(self, options: Mapping[str, str], answer: Answer) -> Trial:
        trial = trial_of(answer, options)
        if answer.state != "ok":
            return trial
        found = self._found[answer.digest]
        return replace(
            trial,
            state=found.state,
            figure=found.figure,
            error=found.error,
            attributes={**found.attributes, **trial.attributes},
        )

    # The end of a search

    def confirm(self, trials: Iterable[Trial], objective: RunTime) -> None:
        """Check the best run times again, until one is a gain without doubt."""
        for trial in _fastest(trials)[:_CONFIRMED]:
            options, answer = None, self.compile(overrides_of(trial.options))
            if answer.state == "ok":  # it may take too long this time
                best = answer.code

                def keeps(one: Answer, best: bytes = best) -> bool:
                    return _is_as_fast(objective.measure(best, {one.digest: one.code})[one.digest])

                options = self._reduced(trial, answer, keeps)
                answer = self.compile(options)
            found = objective.confirm(self._base_code, answer.code)
            if self.confirmation is None or found.gain:
                self.confirmation = {"trial": trial.number, **asdict(found), "text": str(found)}
            if found.gain:
                self.fewest = options
                return

    def reduce(self, best: Trial) -> None:
        """Take options out of the best, for as long as its figure stays as good."""

        def is_as_good(answer: Answer) -> bool:
            (trial,) = self.assessed([({}, answer)])
            return trial.figure is not None and not self.goal.better(best, trial)

        answer = self.compile(overrides_of(best.options))
        self.fewest = self._reduced(best, answer, is_as_good)

    def _reduced(self, trial: Trial, whole: Answer, is_good: Callable[[Answer], bool]) -> dict[str, str]:
        """The fewest options that are as good as all of a trial.

        `whole`: what all of them compile to. `is_good`: whether an answer is as good; it is not asked about
        an equal object.
        """
        options = overrides_of(trial.options)

        def keeps(job: Job) -> bool:
            answer = self.compile(_as_options(job.options))
            return answer.state == "ok" and (answer.digest == whole.digest or is_good(answer))

        if whole.state != "ok" or not options:
            return options
        given = tuple(f"-{name}={text}" for name, text in options.items())
        job = replace(self.plan.job, options=given)
        try:
            reduced = reduce_options(job, keeps, values=False, limits=Limits(jobs=1))
        except Interrupted:  # what is left by then is no result of a search
            raise KeyboardInterrupt from None
        return _as_options(reduced.job.options)


def _fastest(trials: Iterable[Trial]) -> list[Trial]:
    """Trials whose ratios are above 1 and above the noise, the fastest first; of equal objects one."""
    found: dict[str, Trial] = {}
    for trial in trials:
        ratio, noise = (interval_of(trial.attributes, name) for name in ("ratio", "noise"))
        if trial.state == "ok" and ratio and noise and is_gain(ratio, noise):
            found.setdefault(trial.digest, trial)
    return sorted(found.values(), key=lambda each: each.figure or 0.0)


def _is_as_fast(found: Trial) -> bool:
    """Whether a candidate that was measured beside the best one is no slower, but for what cannot be told."""
    ratio = interval_of(found.attributes, "ratio")
    return found.state == "ok" and ratio is not None and ratio.middle >= _SAME and ratio.low >= _SURELY


def _as_options(arguments: Iterable[str]) -> dict[str, str]:
    """From "-name=value", as the reducer has them."""
    pairs = (each.removeprefix("-").partition("=") for each in arguments)
    return {name: value if equals else "true" for name, equals, value in pairs}
