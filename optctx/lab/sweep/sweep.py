"""`sweep`: compiles modules under every combination of option values, even if LLVM crashes or hangs."""

from __future__ import annotations

import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace

import msgspec

from optctx import OptionContext
from optctx.children.death import is_of_machine
from optctx.compiling import FreshProcess, Job, Result
from optctx.compiling.targets import target_problem
from optctx.errors import Interrupted, OptctxError
from optctx.lab.space import DEFAULT, PASSES, Space, Value, overrides_of, parse_space, text_of
from optctx.lab.sweep.plan import Answer, Asked, Plan
from optctx.lab.sweep.process import SweepProcess
from optctx.lab.trials import Goal, Trial, TrialFile, goal_named, identity_of, open_trials
from optctx.process import all_arguments, attributes_policy

__all__ = ["MOST_TRIALS", "answers_to", "judge_targets", "sweep", "trial_of", "verified"]

# Each takes 10 KB and some milliseconds: in total a gigabyte, and minutes to hours.
MOST_TRIALS = 100_000
_BATCH = 16  # compilations for each thread that are under way, or waiting in the helper process
_MEMORY = 4 << 30  # bytes
_SIZES_SHOWN = 10  # dimensions, in a message


def sweep(
    job: Job | Mapping[str, Job],
    space: Space | Sequence[str],
    *,
    by: str = "size",
    trials: int | None = None,
    threads: int | None = None,
    verify: bool = False,
    timeout: float | None = None,
    memory: int | None = _MEMORY,
    baseline: bool = False,
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
        job: What to compile. A mapping compiles several jobs, and its keys are the `file` of their trials.
        space: The options to vary, as `parse_space` makes it or reads it: `["unroll-count=1,2,4"]`.
        by: The figure that trials have as their objective: "size" (bytes of the object), "instructions" (of
            IR) or "compile-time" (seconds), with ":max" if larger is better.
        trials: How many combinations of the grid to compile, the first ones, of all jobs in turn. Without
            it, a grid of more than 100,000 is refused.
        threads: The number of combinations to compile at once, by default one per processor.
        verify: Compile each combination once more in a fresh process with process-wide options, and compare.
            That happens in batches, so it does not disturb the times of the trials. Combinations that timed
            out are not verified. If a fresh process cannot compile, the trial's `difference` says why, and
            its `agrees` stays None.
        timeout: Seconds for each combination, by default 20 times the baseline's time and at least 10.
        memory: Bytes of address space for each combination, in addition to LLVM's own. None is no limit.
        baseline: Begin with a trial for each job and pipeline in which no option of the space is set. Its
            number is -1.
        keep: A file that each trial is appended to as soon as it ends (design/trials.md).
        resume: Go on with the trials that this file has of the same sweep.
        on_trial: Called on this thread with the trials of the file, and then with each one as soon as it
            ends. Baselines are left out.
        printed: Counts each line that LLVM prints, except in combinations that crash or time out.
        progress: Called after each compilation and each verification with the number of them, on any thread.

    Returns:
        The trials, by job and then by their number, which is the place in the grid.

    Raises:
        OptctxError: There are too many combinations; several settings are refused; LLVM refuses a module, a
            pipeline or a target; or the file is of something else. Nothing was compiled. Also raised during
            the sweep if the helper process is killed, or if the file cannot be written.
        UnknownOptionError, OptionValueError, ProcessWideOptionError: One setting is refused. Nothing was
            compiled.
        Interrupted: Ctrl-C, a KeyboardInterrupt. Its `partial` has the trials that have ended.
    """
    jobs = {"": job} if isinstance(job, Job) else dict(job)
    with SweepProcess() as process:  # it starts while the settings are judged
        if isinstance(space, Space):
            space.check()
        else:
            space = parse_space(space)
        grid = _grid(space, len(jobs), trials)
        judge_targets(jobs)
        goal, base = goal_named(by), OptionContext()
        plan = Plan(
            jobs=tuple(
                replace(each, options=(), emit="object", passes=passes)
                for each in jobs.values()
                for passes in space.pipelines or (each.passes,)
            ),
            arguments=all_arguments(base),
            attributes=attributes_policy(),
            threads=threads or os.cpu_count() or 1,
            timeout=timeout,
            memory=memory,
        )
        run = _Run(plan, base, list(jobs), space, grid, goal, process, on_trial, progress)
        run.printed = Counter() if printed is None else printed
        run.total = len(grid) * len(jobs) if trials is None else min(trials, len(grid) * len(jobs))
        with ExitStack() as stack:
            if keep is not None:
                identity = identity_of(
                    "sweep",
                    jobs,
                    (plan.arguments, plan.attributes),
                    space=space.texts(),
                    goal=f"{goal.name}: {goal.direction}",
                    verify=verify,
                )
                file = open_trials(keep, identity, [goal], space, run.point, resume=resume)
                run.take(stack.enter_context(file))
            try:
                return run.trials(baseline, verify)
            except KeyboardInterrupt:
                raise Interrupted(run.found()) from None


def _grid(space: Space, files: int, trials: int | None) -> list[dict[str, Value]]:
    """The points to compile. Raises OptctxError if there are too many."""
    most = MOST_TRIALS // files if trials is None else -(-trials // files)
    grid = space.grid(most + (trials is None))
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


def judge_targets(jobs: Mapping[str, Job]) -> None:
    """Raise OptctxError for the first job with a processor or features that LLVM does not know."""
    suspects = {name: job for name, job in jobs.items() if job.cpu or job.features}
    if not suspects:
        return
    with FreshProcess() as fresh:
        problems = {name: target_problem(fresh.compile, job) for name, job in suspects.items()}
    for name, problem in problems.items():
        if problem is not None:
            raise OptctxError(f"{name}: {problem.error}" if len(jobs) > 1 else problem.error or "")


def answers_to(process: SweepProcess, requests: Iterable[Asked], window: int) -> Iterator[Answer]:
    """Have requests compiled, at most `window` of them under way; yield each answer as it comes."""
    waiting, under_way = iter(requests), 0
    while True:
        asked = [each for _, each in zip(range(window - under_way), waiting, strict=False)]
        if asked:
            process.ask(asked)
        under_way += len(asked)
        if not under_way:
            return
        for answer in process.answers():
            under_way -= 1
            yield answer


def trial_of(
    answer: Answer, number: int, options: Mapping[str, str], goal: Goal, *, passes: str, file: str = ""
) -> Trial:
    """The trial of a compilation."""
    if answer.state != "ok":
        return Trial(number, options, passes, answer.state, error=answer.error, file=file)
    figures = {
        "size": answer.object_size,
        "instructions": answer.instructions,
        "compile-time": answer.seconds,
    }
    return Trial(
        number,
        options,
        passes,
        "ok",
        {goal.name: float(figures[goal.name])},
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
    file: TrialFile | None = None
    done: dict[int, Trial] = field(default_factory=dict)
    baselines: list[Trial] = field(default_factory=list)
    steps: int = 0  # compilations and verifications of this run

    def point(self, number: int) -> Mapping[str, Value] | None:
        """What a trial tries."""
        return self.grid[number // len(self.names)]

    def take(self, file: TrialFile) -> None:
        """Go on with the trials of a file. Raises OptctxError for one that is not of this sweep."""
        self.file = file
        for number, trial in file.kept.trials.items():
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
            self._refuse(self.process.prepare(self.plan))
            bases = {each.number: each for each in self.process.compile(range(self.plan.total))}
            made = [self._baseline(bases[place]) for place in range(self.plan.total)]
            self.baselines = made if baseline else []
            if self.file is not None:
                self.file.note("sweep", {"bases": msgspec.to_builtins(made), "total": self.total})
            with closing(self._verified(wanted, bases) if verify else self._made(wanted, bases)) as found:
                for trial in found:
                    self._enter(trial)
        return self.found()

    def _enter(self, trial: Trial) -> None:
        self.done[trial.number] = trial
        self.on_trial(trial)
        if self.file is not None:
            self.file.append(trial)

    def found(self) -> list[Trial]:
        """What there is so far, in order."""
        files = len(self.names)
        return [*self.baselines, *(self.done[n] for n in sorted(self.done, key=lambda n: (n % files, n)))]

    def options(self, number: int) -> dict[str, str]:
        point = self.point(number) or {}
        return {name: text_of(value) for name, value in point.items() if name != PASSES}

    def name(self, number: int) -> str:
        return self.names[number % len(self.names)]

    def job(self, number: int) -> int:
        """The place of its job in the plan."""
        pipelines = self.space.pipelines
        place = number % len(self.names)
        if not pipelines:
            return place
        return place * len(pipelines) + pipelines.index(str((self.point(number) or {})[PASSES]))

    def _refuse(self, errors: Sequence[str]) -> None:
        """Raise OptctxError for the first job that LLVM refuses under any options."""
        for place, error in enumerate(errors):
            if error:
                name = self.names[place * len(self.names) // self.plan.total]
                raise OptctxError(f"{name}: {error}" if len(self.names) > 1 else error)

    def _baseline(self, answer: Answer) -> Trial:
        options = {each.name: DEFAULT for each in self.space.dimensions if each.name != PASSES}
        passes = self.plan.jobs[answer.number].passes
        name = self.names[answer.number * len(self.names) // self.plan.total]
        return trial_of(answer, -1, options, self.goal, passes=passes, file=name)

    def _made(self, wanted: Iterable[int], bases: Mapping[int, Answer]) -> Generator[Trial, None, None]:
        """Yield each trial as it comes. One that sets nothing is the baseline."""
        asked: dict[int, int] = {}  # request -> trial

        def requests() -> Iterator[Asked]:
            for number in wanted:
                request = self.plan.total + number
                asked[request] = number
                yield Asked(request, self.job(number), overrides_of(self.options(number)))

        same = [number for number in wanted if not overrides_of(self.options(number))]
        wanted = [number for number in wanted if number not in set(same)]
        for number in same:
            yield self._trial(bases[self.job(number)], number)
        for answer in answers_to(self.process, requests(), _BATCH * self.plan.threads):
            yield self._trial(answer, asked.pop(answer.number))

    def _trial(self, answer: Answer, number: int) -> Trial:
        if answer.state in ("ok", "failed"):
            self.printed.update(answer.printed)
        self.progress(self.steps)
        passes = self.plan.jobs[self.job(number)].passes
        return trial_of(
            answer, number, self.options(number), self.goal, passes=passes, file=self.name(number)
        )

    def _verified(self, wanted: Sequence[int], bases: Mapping[int, Answer]) -> Generator[Trial, None, None]:
        """As `_made`, with the verdict of a fresh process."""
        size = _BATCH * self.plan.threads
        with (
            ThreadPoolExecutor(self.plan.threads) as pool,
            # It ends first, so the threads do not wait for jobs that still run.
            FreshProcess(timeout=self.plan.limit(None), memory=self.plan.memory) as fresh,
        ):
            for start in range(0, len(wanted), size):
                batch = list(self._made(wanted[start : start + size], bases))
                judged = [pool.submit(self._judged, fresh, trial) for trial in batch]
                try:
                    for each in judged:
                        yield each.result()
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise

    def _judged(self, fresh: FreshProcess, trial: Trial) -> Trial:
        if trial.state != "timed out":
            context = OptionContext(overrides_of(trial.options), base=self.base)
            job = self.plan.jobs[self.job(trial.number)]
            trial = verified(trial, fresh.compile(replace(job, options=all_arguments(context))))
        self.progress(self.steps)
        return trial


def verified(trial: Trial, reference: Result) -> Trial:
    """The trial with the verdict of a fresh process, or with the reason why there is none."""
    if trial.state == "crashed" and is_of_machine(trial.error) and reference.error is None:
        return replace(trial, difference=f"not compared: {trial.error}")
    none = ("lost", "timeout") if trial.state == "crashed" else ("lost", "timeout", "killed")
    if reference.died in none:
        return replace(trial, difference=f"not compared: {reference.error}")
    difference = _difference(trial, reference)
    return replace(trial, agrees=not difference, difference=difference)


def _difference(trial: Trial, reference: Result) -> str:
    if reference.error is not None:
        crashed = trial.state == "crashed"
        alike = reference.died is not None if crashed else reference.error == trial.error
        return "" if alike and trial.state != "ok" else reference.error
    digest = hashlib.sha256(reference.code).hexdigest()
    found = {"digest": digest, "size": len(reference.code), "instructions": reference.instructions}
    if trial.state == "ok" and trial.attributes == found:
        return ""
    return (
        f"the fresh process gave {reference.instructions} instructions and {len(reference.code)} bytes, "
        f"with SHA-256 {digest}"
    )
