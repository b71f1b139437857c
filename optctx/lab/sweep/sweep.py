"""`sweep`: compiles modules under every combination of option values, even if LLVM crashes or hangs."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial

from optctx import OptionContext
from optctx.children.death import OF_MACHINE
from optctx.compiling import FreshProcess, Job, Result
from optctx.errors import Interrupted, OptctxError
from optctx.lab.settings import positive
from optctx.lab.space import DEFAULT, PASSES, Space, Value, overrides_of, parse_space, text_of
from optctx.lab.sweep.plan import Answer, Asked, Limits, Plan, make_plan
from optctx.lab.sweep.process import SweepProcess
from optctx.lab.trial import Goal, Trial, Trials, goal_named, identity_of, open_trials
from optctx.process import all_arguments

# Each takes 10 KB and some milliseconds: in total a gigabyte, and minutes to hours.
MOST_TRIALS = 100_000
_BATCH = 16  # compilations for each thread that are under way, or waiting in the helper process
_SIZES_SHOWN = 10  # dimensions, in a message


def sweep(
    job: Job | Mapping[str, Job],
    space: Space | Sequence[str],
    *,
    by: str = "size",
    trials: int | None = None,
    verify: bool = False,
    baseline: bool = False,
    limits: Limits = Limits(),  # noqa: B008  frozen
    keep: str | None = None,
    resume: bool = False,
    on_trial: Callable[[Trial], None] = lambda trial: None,
    printed: Counter[str] | None = None,
    progress: Callable[[int], None] = lambda total: None,
) -> list[Trial]:
    """Compile jobs to objects under every combination of option values.

    The combinations are compiled on threads of one worker process, each inside an OptionContext of its own.
    If the worker dies, each combination that it was compiling is compiled again in a process of its own, and
    another worker continues with the rest. So a crash or a hang appears only in the trial of the combination
    that caused it. No code outside the worker sees an option change.

    Options that are not of the space have the values that the calling thread sees now. Function attributes
    count as they do in this process.

    Args:
        job: What to compile. Its `options` and `emit` are ignored. A mapping compiles several jobs, and its
            keys are the `file` of their trials.
        space: The options to vary, as `parse_space` makes it or reads it: `["unroll-count=1,2,4"]`.
        by: The figure that trials have as their objective: "size" (bytes of the object), "instructions" (of
            IR) or "compile-time" (seconds), with ":max" if larger is better.
        trials: How many combinations of the grid to compile, the first ones, of all jobs in turn. Without
            it, a grid of more than 100,000 is refused.
        verify: Compile each combination once more in a fresh process with process-wide options, and compare.
            That happens in batches, so it does not disturb the times of the trials. Combinations that timed
            out are not verified. If a fresh process cannot compile, the trial's `difference` says why, and
            its `agrees` stays None.
        baseline: Begin with a trial for each job and pipeline in which no option of the space is set. Its
            number is -1.
        limits: What compilations may take, and how many run at once.
        keep: A file that each trial is appended to as soon as it ends (design/trials.md).
        resume: Go on with the trials that this file has of the same sweep.
        on_trial: Called on this thread with the trials of the file, and then with each one as soon as it
            ends. Baselines are left out.
        printed: Counts each line that LLVM prints, except in combinations that crash or time out.
        progress: Called after each compilation and each verification with the number of them, on any thread.

    Returns:
        The trials, by job and then by their number, which is the place in the grid.

    Raises:
        OptctxError: There are no jobs, or too many combinations; several settings are refused; LLVM refuses a
            module, a pipeline or a target; or the file is of something else. Nothing was compiled. Also
            raised during the sweep if the helper process is killed, or if the file cannot be written.
        UnknownOptionError, OptionValueError, ProcessWideOptionError: One setting is refused. Nothing was
            compiled.
        Interrupted: Ctrl-C, a KeyboardInterrupt. Its `partial` has the trials that have ended.
    """
    jobs = {"": job} if isinstance(job, Job) else dict(job)
    if not jobs:
        raise OptctxError("there is nothing to compile: give a job")
    if trials is not None:
        positive.check(trials)
    with SweepProcess() as process:  # it starts while the settings are judged
        if isinstance(space, Space):
            space.check()
        else:
            space = parse_space(space)
        grid = _grid(space, len(jobs), trials)
        jobs = {name: replace(each, emit="object") for name, each in jobs.items()}
        goal, base = goal_named(by), OptionContext()
        plan = make_plan(jobs, limits, base, pipelines=space.pipelines)
        run = _Run(plan, base, list(jobs), space, grid, goal, process, on_trial, progress)
        run.printed = Counter() if printed is None else printed
        run.total = len(grid) * len(jobs) if trials is None else min(trials, len(grid) * len(jobs))
        identity = identity_of(
            "sweep",
            jobs,
            (plan.arguments, plan.attributes),
            space=space.texts(),
            goal=f"{goal.name}: {goal.direction}",
            verify=verify,
        )
        with open_trials(keep, identity, resume=resume) as file:
            run.take(file)
            try:
                return run.trials(baseline, verify)
            except KeyboardInterrupt:
                raise Interrupted(run.found()) from None


def _grid(space: Space, files: int, trials: int | None) -> list[dict[str, Value]]:
    """The points to compile. Raises OptctxError if there are too many."""
    most = MOST_TRIALS // files if trials is None else -(-trials // files)
    grid = space.points(most + (trials is None))
    if trials is None and len(grid) > most:
        sizes = " x ".join(str(each.values.count) for each in space.dimensions[:_SIZES_SHOWN])
        more = " x ..." if len(space.dimensions) > _SIZES_SHOWN else ""
        more += f" for {files} files" if files > 1 else ""
        raise OptctxError(
            f"cannot compile {_number(space.count * files)} combinations ({sizes}{more}), the limit is "
            f"{MOST_TRIALS:,}; give fewer values, or say how many of them with --trials (trials=)"
        )
    return grid


def _number(count: float) -> str:
    """In full, or as a power of ten if it is long."""
    return f"{int(count):,}" if count < 10**15 else f"more than 10^{int(math.log10(count))}"


def trial_of(
    answer: Answer, number: int, options: Mapping[str, str], *goals: Goal, passes: str, file: str = ""
) -> Trial:
    """The trial of a compilation. `goals`: of `Answer.figures`, those that it goes by."""
    if answer.state != "ok":
        return Trial(number, options, passes, answer.state, error=answer.error, file=file)
    return Trial(
        number,
        options,
        passes,
        "ok",
        {goal.name: float(answer.figures[goal.name]) for goal in goals},
        answer.seconds,
        attributes={
            "digest": answer.digest,
            "size": answer.object_size,
            "instructions": answer.instructions,
        },
        file=file,
    )


@dataclass
class _Run:
    plan: Plan
    base: OptionContext
    names: list[str]
    space: Space
    grid: list[dict[str, Value]]
    goal: Goal
    process: SweepProcess
    on_trial: Callable[[Trial], None]
    progress: Callable[[int], None]
    printed: Counter[str] = field(default_factory=Counter)
    total: int = 0
    file: Trials = field(init=False)
    done: dict[int, Trial] = field(default_factory=dict)
    baselines: list[Trial] = field(default_factory=list)
    steps: int = 0  # compilations and verifications of this run

    def point(self, number: int) -> Mapping[str, Value]:
        """What a trial tries."""
        return self.grid[number // len(self.names)]

    def take(self, file: Trials) -> None:
        """Go on with the trials of a file. Raises OptctxError for one that is not of this sweep."""
        self.file = file
        for number, trial in file.ended.items():
            if number < self.total:
                if (trial.options, trial.file) != (self.options(number), self.name(number)):
                    raise OptctxError(
                        f"cannot resume: trial {number} of the file is not of this sweep; name another file"
                    )
                self.done[number] = trial
                self.on_trial(trial)

    def trials(self, baseline: bool, verify: bool) -> list[Trial]:
        """All trials, including those that are done."""
        wanted = [number for number in range(self.total) if number not in self.done]
        self.steps = len(wanted) * (2 if verify else 1)
        if wanted or baseline:
            self.process.prepare(self.plan)
            bases = self.process.bases()
            if baseline:
                self.baselines = [self._baseline(place, answer) for place, answer in enumerate(bases)]
            with closing(self._verified(wanted, bases) if verify else self._made(wanted, bases)) as found:
                for trial in found:
                    self._enter(trial)
        return self.found()

    def _enter(self, trial: Trial) -> None:
        self.done[trial.number] = trial
        self.on_trial(trial)
        self.file.append(trial)

    def found(self) -> list[Trial]:
        """What there is so far, in order."""
        files = len(self.names)
        return [*self.baselines, *(self.done[n] for n in sorted(self.done, key=lambda n: (n % files, n)))]

    def options(self, number: int) -> dict[str, str]:
        return {name: text_of(value) for name, value in self.point(number).items() if name != PASSES}

    def name(self, number: int) -> str:
        return self.names[number % len(self.names)]

    def job(self, number: int) -> int:
        """The place of its job in the plan."""
        pipelines = self.space.pipelines
        place = number % len(self.names)
        if not pipelines:
            return place
        return place * len(pipelines) + pipelines.index(str(self.point(number)[PASSES]))

    def _baseline(self, place: int, answer: Answer) -> Trial:
        options = {each.name: DEFAULT for each in self.space.dimensions if each.name != PASSES}
        passes = self.plan.jobs[place].passes
        name = self.names[place * len(self.names) // len(self.plan.jobs)]
        return trial_of(answer, -1, options, self.goal, passes=passes, file=name)

    def _made(self, wanted: Iterable[int], bases: Sequence[Answer]) -> Generator[Trial, None, None]:
        """Yield each trial as it comes. One that sets nothing is the baseline."""
        set_by: dict[int, dict[str, str]] = {each: overrides_of(self.options(each)) for each in wanted}
        for number in (each for each, own in set_by.items() if not own):
            yield self._trial(bases[self.job(number)], number)
        asked = ((each, Asked(self.job(each), own)) for each, own in set_by.items() if own)
        for answer in self.process.all(asked, _BATCH * self.plan.limits.at_once):
            yield self._trial(answer, answer.number)

    def _trial(self, answer: Answer, number: int) -> Trial:
        if answer.state in ("ok", "failed"):
            self.printed.update(answer.printed)
        self.progress(self.steps)
        passes = self.plan.jobs[self.job(number)].passes
        return trial_of(
            answer, number, self.options(number), self.goal, passes=passes, file=self.name(number)
        )

    def _verified(self, wanted: Sequence[int], bases: Sequence[Answer]) -> Generator[Trial, None, None]:
        """As `_made`, with the verdict of a fresh process."""
        limits = self.plan.limits
        size = _BATCH * limits.at_once
        with (
            ThreadPoolExecutor(limits.at_once) as pool,
            # It ends first, so the threads do not wait for jobs that still run.
            FreshProcess(timeout=limits.seconds(), memory=limits.memory) as fresh,
        ):
            for start in range(0, len(wanted), size):
                batch = list(self._made(wanted[start : start + size], bases))
                yield from pool.map(partial(self._judged, fresh), batch)  # cancels the others if it is left

    def _judged(self, fresh: FreshProcess, trial: Trial) -> Trial:
        if trial.state != "timed out":
            context = OptionContext(overrides_of(trial.options), base=self.base)
            job = self.plan.jobs[self.job(trial.number)]
            trial = verified(trial, fresh.compile(replace(job, options=all_arguments(context))))
        self.progress(self.steps)
        return trial


def verified(trial: Trial, reference: Result) -> Trial:
    """The trial with the verdict of a fresh process, or with the reason why there is none."""
    if trial.state in OF_MACHINE and reference.error is None:
        return replace(trial, difference=f"not compared: {trial.error}")
    if reference.end in ("lost", "timed out") or (reference.end in OF_MACHINE and not trial.died):
        return replace(trial, difference=f"not compared: {reference.error}")
    difference = _difference(trial, reference)
    return replace(trial, agrees=not difference, difference=difference)


def _difference(trial: Trial, reference: Result) -> str:
    if reference.error is not None:
        alike = reference.died if trial.died else (trial.state, trial.error) == ("failed", reference.error)
        return "" if alike else reference.error
    digest = hashlib.sha256(reference.code).hexdigest()
    found = {"digest": digest, "size": len(reference.code), "instructions": reference.instructions}
    if trial.state == "ok" and trial.attributes == found:
        return ""
    return (
        f"the fresh process gave {reference.instructions} instructions and {len(reference.code)} bytes, "
        f"with SHA-256 {digest}"
    )
