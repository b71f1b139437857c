"""`rank`: compiles once to see what LLVM reads, then with other values, many at a time."""

from __future__ import annotations

import hashlib
import math
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from importlib import resources

from optctx import OptionContext, current
from optctx.compiling import FreshProcess, Job, Result
from optctx.compiling.facts import resolve
from optctx.errors import EndedEarlyError, Interrupted, OptctxError
from optctx.lab.rank.choose import Candidate, Chosen, choose
from optctx.lab.rank.ranking import Effect, Estimate, Ranking, changes, filled
from optctx.lab.rank.screening import DEAD, Screen
from optctx.lab.space import Choices, Dimension, Space, parse_dimension, text_of
from optctx.lab.sweep.plan import Answer, Asked, Limits, Plan, make_plan
from optctx.lab.sweep.process import SweepProcess
from optctx.lab.sweep.sweep import trial_of, verified
from optctx.lab.trial import Goal, Trial, Trials, goal_named, identity_of, open_trials
from optctx.process import all_arguments
from optctx.wording import counted

_LEAST_GROUP, _TIMES_GROUP = 2.5, 10  # seconds that a group may take, and times the base
_WINDOW = 3  # compilations for each thread that are under way, or wait for one
_SCREENED = 0.5  # compilations for each value, with groups (design/rank.md)
_MOST_LISTED = 10_000  # values of a range
_INTERRUPTED, _STOPPED = "because it was interrupted", "because it could not go on"


def rank(
    job: Job,
    *,
    only: Sequence[str] = (),
    exclude: Sequence[str] = (),
    values: Sequence[str] = (),
    by: str = "size",
    every: bool = False,
    screen: bool = True,
    verify: bool = False,
    trials: int | None = None,
    seconds: float | None = None,
    limits: Limits = Limits(),  # noqa: B008  frozen
    keep: str | None = None,
    resume: bool = False,
    on_estimate: Callable[[Estimate], None] = lambda estimate: None,
    progress: Callable[[int], None] = lambda total: None,
) -> Ranking:
    """Find which of the options that LLVM reads for `job` change the output when they are changed.

    The base is `job` with the values that the calling thread sees now. Each trial changes one option, within
    its type: a bool to its other value, an enum to another choice, a number to one far from it. If LLVM
    crashes or hangs with that, another value is tried.

    The trials are compiled on threads of a worker process, as in `sweep`, in an empty folder that is removed
    at the end. A trial that crashes, never ends or takes all memory is part of the ranking, and affects
    nothing else. Many values are compiled together first; only if that changes the output, or gives none,
    are they compiled by themselves. Nothing is compiled in this process.

    Args:
        job: What to compile. Its `options` and `emit` are ignored.
        only: Names or globs of the options to try, by default all that LLVM reads.
        exclude: Names or globs of options to leave out.
        values: Values to try instead, all of them, such as "unroll-count=1..4". These options are tried even
            if `only` does not name them.
        by: What effects are ranked by: "size", "instructions" or "compile-time".
        every: Try several values of each option: every choice of an enum, numbers on both sides.
        screen: Whether values are compiled together. By "compile-time" they never are.
        verify: Compile each value once more in a fresh process with process-wide options, and compare, also
            those that were found to change nothing in a group.
        trials: The most compilations of this run. The largest effects are found first.
        seconds: The most seconds of this run. No compilation takes longer, the first ones neither; what runs
            at the end is finished.
        limits: What compilations may take, and how many run at once.
        keep: A file that each trial is appended to as soon as it ends (design/trials.md).
        resume: Go on with the trials that this file has of the same ranking, or go on to `every` value.
        on_estimate: Called before the first trial.
        progress: Called with the number of values each time that one more is known.

    Raises:
        OptctxError: LLVM refuses the module, the pipeline or the target; a pattern matches no option; there
            is nothing to try; the file is of something else; or the compilations cannot be trusted, because
            the base comes out otherwise in a fresh process than inside a context (of function attributes
            "optctx", for instance), or after the trials than before.
        UnknownOptionError: A name is not that of an option.
        OptionValueError: A process-wide value has no text form.
        ScopeError: As for `current`.
        Interrupted: Ctrl-C while trials run, a KeyboardInterrupt. Its `partial` is the ranking so far.
        EndedEarlyError: The helper process is killed, or the file cannot be written; also with a `partial`.
    """
    began, goal = time.monotonic(), goal_named(by)
    given = _given(values)
    context = current()
    # What only the printing of IR reads is no candidate.
    job, limits = replace(job, options=(), emit="object"), limits.within(seconds)
    with (
        tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True) as folder,
        SweepProcess() as process,
        FreshProcess(memory=limits.memory, directory=folder) as fresh,
    ):
        plan = make_plan({"": job}, limits, context, directory=folder)
        fresh_job = replace(job, options=plan.arguments)
        process.prepare(plan)
        base = fresh.compile(fresh_job, timeout=limits.seconds())
        if base.error is not None:
            raise OptctxError(f"cannot compile the base: {base.error}" if base.died else base.error)
        reads = {each.name: each for each in process.recorded().read}
        chosen = choose(reads, only=only, exclude=exclude, values=given, every=every)
        groups = screen and goal.name != "compile-time"
        run = _Run(job, plan, goal, chosen, len(reads), process, fresh, context, progress, verify, groups)
        identity = identity_of(
            "rank",
            {"": job},
            (plan.arguments, plan.attributes),
            space=run.space.texts(),
            goal=f"{goal.name}: {goal.direction}",
            verify=verify,
            groups=groups,
        )
        with open_trials(keep, identity, resume=resume) as file:
            run.take(file)
            run.begin(base)
            on_estimate(run.estimate())
            try:
                ended = run.go(trials, None if seconds is None else began + seconds)
            except KeyboardInterrupt:
                raise Interrupted(run.ranking(_INTERRUPTED)) from None
            except EndedEarlyError as error:
                error.partial = run.ranking(_STOPPED)
                raise
            return run.ranking(ended)


def _given(values: Sequence[str]) -> dict[str, list[str]]:
    """Option -> the values to try. Raises OptctxError for what cannot be read or listed, or LLVM refuses."""
    dimensions = [parse_dimension(setting) for setting in values]
    for each in dimensions:
        if each.values.count > _MOST_LISTED:
            raise OptctxError(
                f"cannot try {each.values} for {each.name!r}: expected at most {_MOST_LISTED:,} values; give "
                "fewer"
            )
    return {
        resolve(each.name): [text_of(value) for value in each.values.each()]
        for each in Space.of(dimensions).dimensions
    }


def _often_matter() -> list[str]:
    """Options that changed the output of other files, those with the largest effects first."""
    return (resources.files("optctx.lab.rank") / "likely.txt").read_text().split()


@dataclass
class _Run:
    job: Job
    plan: Plan
    goal: Goal
    chosen: Chosen
    read: int
    process: SweepProcess
    fresh: FreshProcess
    context: OptionContext
    progress: Callable[[int], None]
    verify: bool
    groups: bool
    file: Trials = field(init=False)
    base: Trial = field(init=False)
    screen: Screen = field(init=False)
    compiled: int = 0

    def __post_init__(self) -> None:
        """Number the values: the first of every option, then the second, ..."""
        self.values: list[tuple[Candidate, str]] = []
        self.numbers: list[list[int]] = [[] for _ in self.chosen.candidates]
        for turn in range(max((len(each.values) for each in self.chosen.candidates), default=0)):
            for place, each in enumerate(self.chosen.candidates):
                if turn < len(each.values):
                    self.numbers[place].append(len(self.values))
                    self.values.append((each, list(each.values)[turn]))
        self.space = Space(
            tuple(Dimension(each.option, Choices(tuple(each.values))) for each in self.chosen.candidates)
        )

    @property
    def trials(self) -> dict[int, Trial]:
        """Those that have ended, by number."""
        return self.file.ended

    def point(self, number: int) -> dict[str, str]:
        """What a trial tries."""
        candidate, text = self.values[number]
        return {candidate.option: text}

    @property
    def left(self) -> int:
        """The number of values that are to be tried yet, as far as that is known."""
        return len({*self.screen.left} - self.trials.keys())

    def estimate(self) -> Estimate:
        """What is to come."""
        left = self.left
        compilations = math.ceil(left * (_SCREENED if self.groups else 1)) + left * self.verify
        seconds = compilations * self.base.seconds / self.plan.limits.at_once
        return Estimate(len(self.chosen.candidates), left, compilations, seconds)

    def take(self, file: Trials) -> None:
        """Go on with the trials of a file."""
        self.file = file
        for number, trial in file.ended.items():
            if number >= len(self.values) or trial.options != self.point(number):
                raise OptctxError(
                    f"cannot resume: trial {number} of the file is not of this ranking; name another file"
                )

    def begin(self, fresh: Result) -> None:
        """Compile the base where the trials are compiled. Raises OptctxError if it comes out otherwise."""
        (answer,) = self.process.bases()
        self.base = trial_of(answer, -1, {}, self.goal, passes=self.job.passes)
        digest = hashlib.sha256(fresh.code).hexdigest()
        if (self.base.digest, answer.instructions) != (digest, fresh.instructions):
            raise OptctxError(
                "cannot try other values: inside a context this module compiles otherwise than in a fresh "
                f'process ({answer.error or "the outputs differ"}); take out function attributes "optctx"'
            )
        places = {each.option: place for place, each in enumerate(self.chosen.candidates)}
        numbered = list(zip(self.numbers, self.chosen.candidates, strict=True))
        self.screen = Screen(
            [own[: each.wanted] for own, each in numbered],
            {number: self._effect(trial) for number, trial in self.trials.items()},
            spare=[own[each.wanted :] for own, each in numbered],
            likely=[places[name] for name in _often_matter() if name in places],
            groups=self.groups,
        )

    def go(self, trials: int | None, deadline: float | None) -> str:
        """Compile until the effect of every value is known. Returns why it ended before; else ""."""
        with ThreadPoolExecutor(self.plan.limits.at_once if self.verify else 1) as pool:
            try:
                ended = self._try_all(trials, deadline, pool)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self._check_again()
        return ended

    # Not in the `try` of its caller, which Python 3.13 forgets at a loop's end (design/interrupts.md).
    def _try_all(self, trials: int | None, deadline: float | None, pool: ThreadPoolExecutor) -> str:
        asked: dict[int, tuple[int, ...]] = {}
        ended = ""
        while True:
            requests = []
            while not ended and len(asked) < _WINDOW * self.plan.limits.at_once:
                ended = self._budget(trials, deadline, len(asked))
                numbers = None if ended else self.screen.next()
                if numbers is None:
                    break
                request = self.compiled + len(asked) + 1
                asked[request] = numbers
                requests.append((request, self._asked(numbers)))
            self.process.ask(requests)
            if not asked:
                return ended
            answers = self.process.answers()
            self.compiled += len(answers)
            found = [(asked.pop(answer.number), answer) for answer in answers]
            self._enter([pair for each in found for pair in self._made(*each)], pool)
            for numbers, answer in found:
                self.screen.result(numbers, self._weight(answer))

    def _budget(self, trials: int | None, deadline: float | None, under_way: int) -> str:
        """Why nothing more is begun; "" if there is no reason."""
        if trials is not None and self.compiled + under_way >= trials:
            return f"after {counted(trials, 'compilation')}"
        if deadline is not None and time.monotonic() >= deadline:
            return "because the time was over"
        return ""

    def _asked(self, numbers: Sequence[int]) -> Asked:
        settings: dict[str, str] = {}
        for candidate, text in (self.values[number] for number in numbers):
            settings |= candidate.values[text]
        limit = None
        if len(numbers) > 1:
            limit = max(_LEAST_GROUP, _TIMES_GROUP * self.base.seconds)
            limit = min(limit, self.plan.limits.seconds(self.base.seconds))
        return Asked(0, settings, limit)

    def _weight(self, answer: Answer) -> float:
        return self._effect(trial_of(answer, 0, {}, self.goal, passes=""))

    def _effect(self, trial: Trial) -> float:
        """How much a compilation differs from the base; 0 if it does not."""
        if trial.state != "ok":
            return DEAD
        if not changes(trial, self.base):
            return 0.0
        here, there = trial.figure(self.goal.name) or 0.0, self.base.figure(self.goal.name) or 0.0
        return max(abs(here - there) / (there or 1), 1e-9)

    def _made(self, numbers: tuple[int, ...], answer: Answer) -> Iterator[Trial]:
        """The trials that a compilation settles: its own, or all of a group that changes nothing."""
        if len(numbers) > 1 and self._weight(answer):
            return
        for number in numbers:
            trial = trial_of(answer, number, self.point(number), self.goal, passes=self.job.passes)
            if len(numbers) > 1:
                trial = replace(trial, attributes={**trial.attributes, "group": len(numbers)})
            yield trial

    def _enter(self, trials: Sequence[Trial], pool: ThreadPoolExecutor) -> None:
        for trial in pool.map(self._verified, trials) if self.verify else trials:
            self.file.append(trial)
            self.progress(len(self.trials) + self.left)

    def _verified(self, trial: Trial) -> Trial:
        candidate, text = self.values[trial.number]
        if trial.state == "timed out":
            return trial
        context = OptionContext(candidate.values[text], base=self.context)
        limit = self.plan.limits.seconds(self.base.seconds)
        reference = self.fresh.compile(replace(self.job, options=all_arguments(context)), timeout=limit)
        attributes = {name: each for name, each in trial.attributes.items() if name != "group"}
        checked = verified(replace(trial, attributes=attributes), reference)
        return replace(trial, agrees=checked.agrees, difference=checked.difference)

    def _check_again(self) -> None:
        """Check that the base still compiles to the same output, so the trials can be trusted."""
        (answer,) = self.process.bases()
        again = trial_of(answer, -1, {}, self.goal, passes=self.job.passes)
        if self._effect(again):
            raise OptctxError(
                "cannot trust the trials: after them the base came out otherwise "
                f"({answer.error or 'another output'}); try again, with less memory or fewer jobs at once"
            )

    def ranking(self, ended: str) -> Ranking:
        """The results so far."""
        effects = (
            Effect(each.option, each.type, each.base, each.functions) for each in self.chosen.candidates
        )
        outline = Ranking(
            goal=self.goal,
            base=self.base,
            read=self.read,
            effects=tuple(effects),
            not_tried=self.chosen.not_tried,
            refused=self.chosen.refused,
            compiled=self.compiled,
            ended=ended,
            left=len(self.trials) + self.left,
        )
        return filled(outline, (self.trials[number] for number in sorted(self.trials)))
