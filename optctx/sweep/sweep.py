"""Compile one module under every combination of option values, in threads of this process."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.fresh import FreshProcess, Job, Result, compile_job
from optctx.sweep.grid import MOST_COMBINATIONS, Axis, combinations, count_combinations, overrides

__all__ = ["Row", "sweep"]

_MOST_REFUSED = 20  # settings in a message


@dataclass(frozen=True)
class Row:
    """What one combination gave."""

    options: dict[str, str]  # every axis, with the text of its value
    instructions: int  # of IR, after the passes
    object_size: int  # bytes
    seconds: float  # wall time of parsing, passes and emission, among the other threads
    agrees: bool | None  # with a fresh process, byte for byte; None if that was not asked
    digest: str  # SHA-256 of the object, in hexadecimal
    difference: str = ""  # how the fresh process differs, where it does


@dataclass(frozen=True)
class _Task:
    combination: dict[str, str]
    context: OptionContext
    job: Job


def sweep(
    job: Job,
    axes: Sequence[Axis],
    *,
    threads: int | None = None,
    verify: bool = False,
    max_combinations: int = MOST_COMBINATIONS,
    progress: Callable[[], None] = lambda: None,
) -> list[Row]:
    """Compile `job` to an object under every combination, each inside an OptionContext of its own.

    Options that no axis names have the values that the calling thread sees now. `threads` defaults to the
    number of processors. With `verify`, each combination is compiled once more in a fresh process with
    process-wide options, after the others so as not to disturb their times. `progress` is called after each
    compilation, on any thread. Nothing outside this call's own threads sees an option change.

    Raises what OptionContext raises for unknown options and bad values, and OptctxError for more than
    `max_combinations`, before anything is compiled. Raises OptctxError for a module, pipeline or target that
    LLVM refuses.
    """
    tasks = _prepare(replace(job, options=(), emit="object"), axes, max_combinations)
    with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
        try:
            results = list(pool.map(lambda task: _compile(task, progress), tasks))
            if not verify:
                return [_row(task, result, None) for task, result in zip(tasks, results, strict=True)]
            with FreshProcess() as fresh:
                references = list(pool.map(lambda task: _compile_fresh(fresh, task, progress), tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [_row(*parts) for parts in zip(tasks, results, references, strict=True)]


def _prepare(job: Job, axes: Sequence[Axis], max_combinations: int) -> list[_Task]:
    """A context for every combination; all settings are judged first, so one run names every bad one."""
    count_combinations(axes, max_combinations)
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
    tasks = []
    for combination in combinations(axes, limit=max_combinations):
        context = OptionContext(overrides(combination))
        tasks.append(_Task(combination, context, replace(job, options=tuple(context.args()))))
    return tasks


def _compile(task: _Task, progress: Callable[[], None]) -> Result:
    with task.context:
        result = compile_job(task.job)
    if result.error is not None:
        settings = " ".join(task.job.options)
        raise OptctxError(f"{result.error} (with {settings})" if settings else result.error)
    progress()
    return result


def _compile_fresh(fresh: FreshProcess, task: _Task, progress: Callable[[], None]) -> Result:
    result = fresh.compile(task.job)
    progress()
    return result


def _row(task: _Task, result: Result, reference: Result | None) -> Row:
    return Row(
        options=task.combination,
        instructions=result.instructions,
        object_size=len(result.code),
        seconds=result.seconds,
        agrees=None if reference is None else result == reference,
        digest=hashlib.sha256(result.code).hexdigest(),
        difference="" if reference is None else _difference(result, reference),
    )


def _difference(result: Result, reference: Result) -> str:
    if result == reference:
        return ""
    if reference.error is not None:
        return reference.error
    return (
        f"the fresh process gave {reference.instructions} instructions and {len(reference.code)} bytes, "
        f"with SHA-256 {hashlib.sha256(reference.code).hexdigest()}"
    )
