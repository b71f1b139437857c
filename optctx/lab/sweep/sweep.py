"""`sweep`: compiles modules under every combination of option values, even if LLVM crashes or hangs."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace

from optctx import OptionContext
from optctx.children.death import is_of_machine
from optctx.compiling import FreshProcess, Job, Result
from optctx.compiling.targets import target_problem
from optctx.errors import OptctxError, shown
from optctx.lab.sweep.grid import MOST_COMBINATIONS, Axis, count_combinations, overrides
from optctx.lab.sweep.plan import Answer, Plan
from optctx.lab.sweep.process import SweepProcess
from optctx.lab.sweep.row import Row
from optctx.process import all_arguments, attributes_policy

__all__ = ["judge_settings", "judge_targets", "sweep"]

_MOST_REFUSED = 20  # settings in a message
_BATCH = 16  # combinations for each thread, before fresh processes verify them
_MEMORY = 4 << 30  # bytes


def sweep(
    job: Job | Mapping[str, Job],
    axes: Sequence[Axis],
    *,
    threads: int | None = None,
    verify: bool = False,
    timeout: float | None = None,
    memory: int | None = _MEMORY,
    max_combinations: int = MOST_COMBINATIONS,
    baseline: bool = False,
    done: Iterable[Row] = (),
    on_row: Callable[[Row], None] = lambda row: None,
    printed: Counter[str] | None = None,
    progress: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Compile jobs to objects under every combination of option values.

    The combinations are compiled on threads of one worker process, each inside an OptionContext of its own.
    If the worker dies, each combination that it was compiling is compiled again in a process of its own, and
    another worker continues with the rest. So a crash or a hang appears only in the row of the combination
    that caused it. No code outside the worker sees an option change.

    Options that no axis names have the values that the calling thread sees now. Function attributes count as
    they do in this process.

    Args:
        job: What to compile. A mapping compiles several jobs, and its keys are the `file` of their rows.
        axes: The options to vary, with their values.
        threads: The number of combinations to compile at once, by default one per processor.
        verify: Compile each combination once more in a fresh process with process-wide options, and compare.
            That happens in batches, so it does not disturb the times of the rows. Combinations that timed out
            are not verified. If a fresh process cannot compile, the row's `difference` says why, and its
            `agrees` stays None.
        timeout: Seconds for each combination, by default 20 times the baseline's time and at least 10.
        memory: Bytes of address space for each combination, in addition to LLVM's own. None is no limit.
        max_combinations: The largest number of combinations, of all jobs, to accept.
        baseline: Begin with a row for each job in which no axis sets an option, marked `baseline`.
        done: Rows of an earlier run of the same sweep, which are not compiled again.
        on_row: Called with each new row as soon as it is complete, on this thread. Baselines are left out.
        printed: Counts each line that LLVM prints, except in combinations that crash or time out.
        progress: Called after each compilation and each verification, on any thread.

    Returns:
        The rows, in the order of the jobs and of `combinations(axes)`.

    Raises:
        OptctxError: There are more than `max_combinations`; several settings are refused; LLVM refuses a
            module, a pipeline or a target; or `done` has a row of another sweep. Nothing was compiled. Also
            raised during the sweep if the helper process is killed.
        UnknownOptionError, OptionValueError, ProcessWideOptionError: One setting is refused. Nothing was
            compiled.
    """
    jobs = {"": job} if isinstance(job, Job) else dict(job)
    count = count_combinations(axes, max_combinations, files=len(jobs))
    with SweepProcess() as process:  # it starts while the settings are judged
        judge_settings(axes)
        judge_targets(jobs)
        base = OptionContext()
        plan = Plan(
            jobs=tuple(replace(each, options=(), emit="object") for each in jobs.values()),
            axes=tuple(axes),
            combinations=count,
            arguments=all_arguments(base),
            attributes=attributes_policy(),
            threads=threads or os.cpu_count() or 1,
            timeout=timeout,
            memory=memory,
        )
        counter = Counter() if printed is None else printed
        run = _Run(plan, base, list(jobs), process, on_row, counter, progress)
        return run.rows(done, baseline, verify)


def judge_settings(axes: Sequence[Axis]) -> None:
    """Check every setting, so that one error names all the bad ones. Raises OptctxError."""
    refused: dict[str, OptctxError] = {}
    for name, value in ((axis.name, value) for axis in axes for value in axis.values):
        try:
            OptionContext(overrides({name: value}))
        except OptctxError as error:
            refused.setdefault(str(error), error)
        if len(refused) == _MOST_REFUSED:  # looking for similar names takes time
            raise OptctxError(f"{len(refused)} settings or more are refused: " + "; ".join(refused))
    if len(refused) > 1:
        raise OptctxError(f"{len(refused)} settings are refused: " + "; ".join(refused))
    for refusal in refused.values():
        raise refusal


def judge_targets(jobs: Mapping[str, Job]) -> None:
    """Raise OptctxError for the first job with a processor or features that LLVM does not know."""
    suspects = {name: job for name, job in jobs.items() if job.cpu or job.features}
    if not suspects:
        return
    with FreshProcess() as fresh:
        _judge_targets(fresh, suspects, len(jobs) > 1)


def _judge_targets(fresh: FreshProcess, suspects: Mapping[str, Job], named: bool) -> None:
    for name, job in suspects.items():
        if problem := target_problem(fresh.compile, job):
            raise OptctxError(f"{name}: {problem.error}" if named else problem.error or "")


@dataclass
class _Run:
    plan: Plan
    base: OptionContext
    names: list[str]
    process: SweepProcess
    on_row: Callable[[Row], None]
    printed: Counter[str]
    progress: Callable[[], None]

    def rows(self, done: Iterable[Row], baseline: bool, verify: bool) -> list[Row]:
        """All rows, including those that are done."""
        plan = self.plan
        rows = self._numbered(done)
        baselines = [plan.baseline(place) for place in range(len(self.names))]
        wanted = [number for number in range(plan.total) if number not in rows]
        if wanted or baseline:
            wanted = list(dict.fromkeys([*(each for each in baselines if each not in rows), *wanted]))
        if wanted:
            seconds = {
                place: rows[number].seconds for place, number in enumerate(baselines) if number in rows
            }
            self._refuse(self.process.prepare(replace(plan, seconds=seconds)))
            with closing(self._verified(wanted) if verify else self._compiled(wanted)) as results:
                for number, row in results:
                    rows[number] = row
                    self._tell(number, row)
        first = [replace(rows[number], baseline=True) for number in baselines] if baseline else []
        return [*first, *(rows[number] for number in range(plan.total))]

    def _tell(self, number: int, row: Row) -> None:
        if number < self.plan.total:
            self.on_row(row)

    def _numbered(self, done: Iterable[Row]) -> dict[int, Row]:
        """Number -> row. Raises OptctxError for a row that is not of this sweep."""
        done = list(done)
        numbers = {self._key(number): number for number in range(self.plan.total if done else 0)}
        rows = {}
        for row in done:
            number = numbers.get((row.file, *row.options.items()))
            if number is None:
                raise OptctxError(
                    f"expected rows of this sweep as `done`, found one of {row.file or 'the job'} with "
                    f"{shown(row.options)}; leave it out"
                )
            rows[number] = row
        return rows

    def _key(self, number: int) -> tuple[object, ...]:
        return (self.names[self.plan.job(number)], *self.plan.combination(number).items())

    def _refuse(self, errors: Sequence[str]) -> None:
        """Raise OptctxError for the first job that LLVM refuses under any options."""
        for name, error in zip(self.names, errors, strict=True):
            if error:
                raise OptctxError(f"{name}: {error}" if len(self.names) > 1 else error)

    def _compiled(self, wanted: Sequence[int]) -> Generator[tuple[int, Row], None, None]:
        """Yield (number, row) for each combination as it comes."""
        for answer in self.process.compile(wanted):
            if answer.state in ("ok", "failed"):
                self.printed.update(answer.printed)
            if answer.number < self.plan.total:
                self.progress()
            yield answer.number, self._row(answer)

    def _verified(self, wanted: Sequence[int]) -> Generator[tuple[int, Row], None, None]:
        """As `_compiled`, with the verdict of a fresh process."""
        size = _BATCH * self.plan.threads
        with (
            ThreadPoolExecutor(self.plan.threads) as pool,
            # It ends first, so the threads do not wait for jobs that still run.
            FreshProcess(timeout=self.plan.limit(None), memory=self.plan.memory) as fresh,
        ):
            for start in range(0, len(wanted), size):
                batch = list(self._compiled(wanted[start : start + size]))
                judged = [pool.submit(self._judged, fresh, number, row) for number, row in batch]
                try:
                    for (number, _), each in zip(batch, judged, strict=True):
                        yield number, each.result()
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise

    def _judged(self, fresh: FreshProcess, number: int, row: Row) -> Row:
        if number >= self.plan.total:
            return row
        if row.state != "timed out":
            row = _compared(row, fresh.compile(self._fresh_job(number)))
        self.progress()
        return row

    def _fresh_job(self, number: int) -> Job:
        context = OptionContext(overrides(self.plan.combination(number)), base=self.base)
        return replace(self.plan.jobs[self.plan.job(number)], options=all_arguments(context))

    def _row(self, answer: Answer) -> Row:
        return Row(
            options=self.plan.combination(answer.number),
            instructions=answer.instructions,
            object_size=answer.object_size,
            seconds=answer.seconds,
            agrees=None,
            digest=answer.digest,
            state=answer.state,
            error=answer.error,
            file=self.names[self.plan.job(answer.number)],
        )


def _compared(row: Row, reference: Result) -> Row:
    """The row with the verdict of a fresh process, or with the reason why there is none."""
    if row.state == "crashed" and is_of_machine(row.error) and reference.error is None:
        return replace(row, difference=f"not compared: {row.error}")
    none = ("lost", "timeout") if row.state == "crashed" else ("lost", "timeout", "killed")
    if reference.died in none:
        return replace(row, difference=f"not compared: {reference.error}")
    difference = _difference(row, reference)
    return replace(row, agrees=not difference, difference=difference)


def _difference(row: Row, reference: Result) -> str:
    if reference.error is not None:
        alike = reference.died is not None if row.state == "crashed" else reference.error == row.error
        return "" if alike and row.state != "ok" else reference.error
    digest = hashlib.sha256(reference.code).hexdigest()
    numbers = (row.instructions, row.object_size, row.digest)
    if row.state == "ok" and numbers == (reference.instructions, len(reference.code), digest):
        return ""
    return (
        f"the fresh process gave {reference.instructions} instructions and {len(reference.code)} bytes, "
        f"with SHA-256 {digest}"
    )
