"""`rank`: compiles once to see what LLVM reads, then once for each value that may change the output."""

from __future__ import annotations

import tempfile
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from optctx.compiling import FreshProcess, Job
from optctx.compiling.facts import text
from optctx.errors import EndedEarlyError, Interrupted, OptctxError
from optctx.lab.candidates import Candidate, NotTried, choose, given_values
from optctx.lab.experiment import Experiment, Options, make_plan
from optctx.lab.outcome import Answer, Limits, attributes_of, trial_of
from optctx.lab.tables import ends_of
from optctx.lab.trial import Goal, Trial, goal_named
from optctx.wording import counted


@dataclass(frozen=True)
class Effect:
    """An option that was tried. `trials`: largest effect first, those without output last."""

    option: str
    type: str
    base: str
    functions: tuple[str, ...]  # the LLVM functions that read it, demangled
    trials: tuple[Trial, ...]
    changes: bool  # whether any of the values changes the output

    @property
    def best(self) -> Trial:
        """The trial with the largest effect."""
        return self.trials[0]

    @property
    def value(self) -> str:
        """The value of that trial."""
        return self.best.options[self.option]


@dataclass(frozen=True)
class Ranking:
    """The results of `rank`. `effects`: every option that was tried, largest effect first.

    `ended`: why it ended before every value was tried, such as "after 100 compilations"; "" if it did not.
    `left`: the values of which nothing is known then; otherwise 0.
    """

    goal: Goal
    base: Trial
    read: int  # options that LLVM read
    effects: tuple[Effect, ...]
    not_tried: tuple[NotTried, ...]
    ended: str = ""
    left: int = 0

    @property
    def changing(self) -> list[Effect]:
        """The options that change the output, largest effect first."""
        return [effect for effect in self.effects if effect.changes]

    @property
    def trials(self) -> list[Trial]:
        """All trials, by number."""
        found = (trial for effect in self.effects for trial in effect.trials)
        return sorted(found, key=lambda trial: trial.number)

    @property
    def dead(self) -> list[tuple[Effect, Trial]]:
        """Every trial without output, in order of option."""
        dead = [(effect, t) for effect in self.effects for t in effect.trials if t.state != "ok"]
        return sorted(dead, key=lambda pair: pair[0].option)

    def change(self, trial: Trial, name: str) -> float:
        """A figure of a trial relative to the base: 0.5 is 50 % more."""
        return _change(trial, self.base, name)

    def summary(self) -> list[str]:
        """Lines with the counts of options and trials, and with how it ended."""
        options = (
            f"{self.read} read, {len(self.effects)} tried, "
            f"{counted(len(self.changing), 'changes', 'change')} the output, "
            f"{len(self.not_tried)} not tried"
        )
        values = [counted(len(self.trials), "value"), *ends_of(self.trials)]
        lines = [f"{options}; {', '.join(values)}"]
        if self.ended:
            lines.append(f"ended {self.ended}: nothing is known of {counted(self.left, 'value')}")
        return lines


def rank(
    job: Job,
    *,
    only: Sequence[str] = (),
    values: Sequence[str] = (),
    by: str = "size",
    trials: int | None = None,
    seconds: float | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    progress: Callable[[int], None] = lambda total: None,
) -> Ranking:
    """Find which of the options that LLVM reads for `job` change the output when they are changed.

    The base is `job` with the values that the calling thread sees now. Each trial changes one option, within
    its type: a bool to its other value, an enum to another choice, a number to one far from it. If LLVM
    crashes or hangs with that, another value is tried. Options that often matter come first.

    The trials are compiled on threads of a worker process, as in `sweep`, in an empty folder that is removed
    at the end. A trial that crashes, never ends or takes all memory is part of the ranking, and affects
    nothing else. Nothing is compiled in this process.

    Args:
        job: What to compile. Its `options` and `emit` are ignored.
        only: Names or globs of the options to try, by default all that LLVM reads.
        values: Values to try instead, all of them, such as "unroll-count=1..4". These options are tried even
            if `only` does not name them.
        by: What effects are ranked by: "size", "instructions" or "compile-time".
        trials: The most compilations of this run.
        seconds: The most seconds of this run. No compilation takes longer, the first ones neither; what runs
            at the end is finished.
        limits: What compilations may take, and how many run at once.
        progress: Called with the number of values each time that one more is known.

    Raises:
        OptctxError: LLVM refuses the module, the pipeline or the target; a pattern matches no option; there
            is nothing to try; or the compilations cannot be trusted, because
            the base comes out otherwise in a fresh process than inside a context (of function attributes
            "optctx", for instance), or after the trials than before.
        UnknownOptionError: A name is not that of an option.
        OptionValueError: A process-wide value has no text form.
        Interrupted: Ctrl-C while trials run, a KeyboardInterrupt. Its `partial` is the ranking so far.
        EndedEarlyError: The helper process is killed; also with a `partial`.
    """
    began, goal, image = time.monotonic(), goal_named(by), job.image
    given = given_values(values, image)
    plan = make_plan(job, replace(limits, most=seconds))
    with (
        tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True) as folder,
        Experiment(replace(plan, directory=folder)) as experiment,
    ):
        base_trial = _base(experiment, goal)
        reads = {each.name: each for each in experiment.recorded().read}
        chosen = choose(reads, image, only=only, values=given)
        deadline = None if seconds is None else began + seconds
        run = _Rank(goal, *chosen, len(reads), experiment, base_trial, trials, deadline)
        try:
            run.go(progress)
        except KeyboardInterrupt:
            raise Interrupted(run.ranking("because it was interrupted")) from None
        except EndedEarlyError as error:
            error.partial = run.ranking("because it could not go on")
            raise
        return run.ranking(run.ended)


def _base(experiment: Experiment, goal: Goal) -> Trial:
    """Compile the base in a fresh process, and where the trials are compiled.

    Raises OptctxError if it does not compile, or comes out otherwise.
    """
    plan, limits = experiment.plan, experiment.plan.limits
    with FreshProcess(timeout=limits.seconds(), memory=limits.memory, directory=plan.directory) as fresh:
        found = fresh.compile(replace(plan.job, options=plan.arguments))
    if found.error is not None:
        raise OptctxError(f"cannot compile the base: {found.error}" if found.died else found.error)
    answer = experiment.compile_base()
    base = trial_of(answer, {}, goal)
    if base.attributes != attributes_of(found):
        raise OptctxError(
            "cannot try other values: inside a context this module compiles otherwise than in a fresh "
            f'process ({answer.error or "the outputs differ"}); take out function attributes "optctx"'
        )
    return base


@dataclass
class _Rank:
    goal: Goal
    candidates: list[Candidate]
    not_tried: list[NotTried]
    read: int
    experiment: Experiment
    base: Trial
    most: int | None
    deadline: float | None
    asked: list[tuple[Candidate, str]] = field(default_factory=list)  # values, by the number of their trial
    ended: str = ""

    def __post_init__(self) -> None:
        """Begin with the first value of every option, then the second of those that have more, ..."""
        self.known: dict[str, list[Trial]] = {each.read.name: [] for each in self.candidates}
        turns = zip_longest(
            *([(each, value) for value in [*each.values][: each.wanted]] for each in self.candidates)
        )
        self.waiting = deque(each for turn in turns for each in turn if each is not None)
        # Those that come if the ones before say too little.
        self.spare = {each.read.name: deque([*each.values][each.wanted :]) for each in self.candidates}

    @property
    def _under_way(self) -> int:
        return len(self.asked) - sum(map(len, self.known.values()))

    def go(self, progress: Callable[[int], None]) -> None:
        """Compile until the effect of every value is known, or a limit is reached."""
        for trial in self.experiment.all(self._more, self._made):
            candidate, _ = self.asked[trial.number]
            known, spare = self.known[candidate.read.name], self.spare[candidate.read.name]
            known.append(trial)
            silent = (t.state != "ok" or (candidate.likely and not changes(t, self.base)) for t in known)
            if spare and all(silent):
                self.waiting.append((candidate, spare.popleft()))
            progress(len(self.asked) + len(self.waiting))
        answer = self.experiment.compile_base()
        again = trial_of(answer, {}, self.goal)
        if again.state != "ok" or changes(again, self.base):
            raise OptctxError(
                "cannot trust the trials: after them the base came out otherwise "
                f"({answer.error or 'another output'}); try again, with less memory or fewer jobs at once"
            )

    def _more(self, count: int) -> list[tuple[int, Options]]:
        found: list[tuple[int, Options]] = []
        while self.waiting and len(found) < count and not self._is_over():
            candidate, value = self.waiting.popleft()
            found.append((len(self.asked), candidate.values[value]))
            self.asked.append((candidate, value))
        return found

    def _is_over(self) -> bool:
        if self.most is not None and len(self.asked) >= self.most:
            self.ended = f"after {counted(self.most, 'compilation')}"
        elif self.deadline is not None and time.monotonic() >= self.deadline:
            self.ended = "because the time was over"
        return bool(self.ended)

    def _made(self, answer: Answer) -> Trial:
        candidate, value = self.asked[answer.number]
        return trial_of(answer, {candidate.read.name: value}, self.goal)

    def ranking(self, ended: str) -> Ranking:
        """The results so far: the largest effect first, equal ones in order of name."""
        effects = []
        for each in self.candidates:
            read = each.read
            if own := sorted(self.known[read.name], key=lambda trial: (self._weight(trial), trial.number)):
                changing = any(changes(trial, self.base) for trial in own)
                named = read.name, each.type, text(read.values[0]), read.functions
                effects.append(Effect(*named, trials=tuple(own), changes=changing))
        effects.sort(key=lambda each: (not each.changes, *self._weight(each.best), each.option))
        left = len(self.waiting) + self._under_way
        found = tuple(effects), tuple(self.not_tried)
        return Ranking(self.goal, self.base, self.read, *found, ended, left)

    def _weight(self, trial: Trial) -> tuple[object, ...]:
        """A sort key, less for a larger effect: by the goal, then by other figures, then by any change."""
        names = dict.fromkeys((self.goal.name, "size", "instructions"))
        effects = (-abs(_change(trial, self.base, name)) for name in names)
        return trial.state != "ok", *effects, not changes(trial, self.base)


def changes(trial: Trial, base: Trial) -> bool:
    """Whether a value gives another object, or another number of instructions."""
    names = ("digest", "instructions")
    return trial.state == "ok" and any(trial.attributes[n] != base.attributes[n] for n in names)


def _change(trial: Trial, base: Trial, name: str) -> float:
    here, there = (each.attributes.get(name, each.figure) for each in (trial, base))
    return 0.0 if here is None or there is None else (here - there) / (there or 1)
