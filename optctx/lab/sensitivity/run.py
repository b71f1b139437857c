"""`sensitivity`: compiles once to see what LLVM reads, then in a fresh process for each other value."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from optctx import Read, current, record
from optctx.children.death import last_words
from optctx.compiling import FreshProcess, Job, Result
from optctx.compiling.job import Death, compile_unchecked
from optctx.errors import Interrupted, OptctxError
from optctx.lab.sensitivity.choose import Candidate, Chosen, Planned, choose, targets_of
from optctx.lab.sensitivity.report import By, Effect, Report, Trial, Verdict, ranked_effects, ranked_trials
from optctx.process import thread_arguments
from optctx.values.read_values import Value

__all__ = ["Limits", "reads_of", "sensitivity"]

_BASE = 120.0  # seconds that the base may take, unless the limit for trials is longer
_LEAST = 10.0  # seconds that any trial may take
_TIMES_BASE = 20  # how many times the base's own time a trial may take
_REASON = 200  # characters of a process's last words


@dataclass(frozen=True)
class Limits:
    """Limits for the compilations.

    Attributes:
        timeout: Seconds for each trial, by default 20 times the base's time and at least 10 s.
        memory: Bytes of address space for each compilation, in addition to LLVM's own.
        trials: The largest number of trials. The first value of every option comes before the second of any.
        jobs: The number of compilations at once, by default one per processor.
    """

    timeout: float | None = None
    memory: int = 4 << 30
    trials: int | None = None
    jobs: int | None = None


def sensitivity(
    job: Job,
    *,
    options: Sequence[str] = (),
    exclude: Sequence[str] = (),
    values: Mapping[str, Sequence[str]] | None = None,
    by: By = "size",
    limits: Limits | None = None,
    progress: Callable[[int], None] = lambda total: None,
) -> Report:
    """Find which of the options that LLVM reads for `job` change the output when they are changed.

    The base is `job` with the values that the calling thread sees now. Each trial changes one option, within
    its type: a bool to its other value, an enum to every other choice, a number to a few others.

    Each trial is compiled in a fresh process, in an empty folder that is removed at the end. A trial that
    crashes, never ends or takes all memory is part of the report, and affects nothing else. Only the base is
    also compiled on this thread, to see what LLVM reads. That does not affect other threads.

    Args:
        job: What to compile. Its `options` and `emit` are ignored.
        options: Names or globs of the options to try, by default all that LLVM reads.
        exclude: Names or globs of options to leave out.
        values: Option name -> command-line texts to try instead. These options are tried even if `options`
            does not name them.
        by: The change that effects are ranked by.
        limits: Limits for the compilations.
        progress: Called after each trial, on any thread, with the total number of trials.

    Raises:
        OptctxError: LLVM refuses the module, the pipeline or the target; a pattern matches no option; or a
            fresh process gives another output for the base than this thread (because of function attributes
            "optctx", for instance), or than before the trials (because its helper was killed).
        UnknownOptionError: A name is not that of an option.
        OptionValueError: A process-wide value has no text form.
        ScopeError: As for `current`.
        UnsupportedImageError: As for `record`.
        Interrupted: Ctrl-C while trials run, a KeyboardInterrupt. Its `partial` is the report of the trials
            that have ended; `Report.left` counts the others.
    """
    limits = limits or Limits()
    context = current()
    job = replace(job, options=thread_arguments(context), emit="both")
    given = targets_of(values or {})
    with (
        ThreadPoolExecutor(limits.jobs or os.cpu_count()) as pool,
        tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True) as folder,
        FreshProcess(memory=limits.memory, directory=folder) as fresh,
        _cancelled_on_error(pool),
    ):
        base = fresh.compile(job, timeout=max(_BASE, limits.timeout or 0))
        reads = reads_of(job, base)
        chosen = choose(
            reads, context, options=options, exclude=exclude, values=given, max_trials=limits.trials
        )
        timeout = limits.timeout or max(_LEAST, base.seconds * _TIMES_BASE)
        total = sum(len(candidate.planned) for candidate in chosen.candidates)

        def compile_one(planned: Planned) -> Trial:
            result = fresh.compile(replace(job, options=planned.options), timeout=timeout)
            if result.died == "lost":
                raise OptctxError(f"a trial could not be made: {result.error}")
            progress(total)
            return _trial(planned.value, result, base)

        waiting: list[list[Future[Trial]]] = []
        try:
            _submit(pool, compile_one, chosen.candidates, waiting)
            trials = [[future.result() for future in own] for own in waiting]
            _check_again(base, fresh.compile(job))
        except KeyboardInterrupt:  # those that run fail with their process, which ends next
            ended = [list(_finished(own)) for own in waiting]
            left = total - sum(map(len, ended))
            raise Interrupted(_report(by, base, len(reads), chosen, ended, left)) from None
    return _report(by, base, len(reads), chosen, trials)


def _report(
    by: By,
    base: Result,
    read: int,
    chosen: Chosen,
    trials: Sequence[Sequence[Trial]],
    left: int | None = None,
) -> Report:
    """The report of the trials of each candidate, of the first candidates at least."""
    pairs = zip(chosen.candidates, trials, strict=False)
    effects = [_effect(candidate, own, by) for candidate, own in pairs if own]
    return Report(
        by=by,
        instructions=base.instructions,
        object_size=len(base.code),
        read=read,
        effects=ranked_effects(effects, by),
        not_tried=chosen.not_tried,
        refused=chosen.refused,
        left=left,
    )


@contextmanager
def _cancelled_on_error(pool: ThreadPoolExecutor) -> Iterator[None]:
    """Cancel the waiting trials on an error.

    It is the innermost block, so the fresh processes end next, and no thread waits for trials that still run.
    """
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def reads_of(job: Job, base: Result) -> Mapping[str, Read]:
    """Record what LLVM reads for the base. A fresh process has compiled it, so it cannot end this process."""
    if base.error is not None:
        raise OptctxError(base.error)
    # Emit an object only: options that only the printing of IR reads are not candidates.
    with record() as log:
        here = compile_unchecked(replace(job, emit="object"))
    if here.error is not None or (here.code, here.instructions) != (base.code, base.instructions):
        raise OptctxError(
            "cannot try other values: a fresh process compiles this module otherwise than this thread does "
            f'({here.error or "the outputs differ"}); take out function attributes "optctx" and bindings'
        )
    return log.reads


def _check_again(base: Result, again: Result) -> None:
    """Check that the base still compiles to the same output, so the trials can be trusted."""
    if again != base:
        raise OptctxError(
            "cannot trust the trials: after them the base came out otherwise "
            f"({again.error or 'another output'}); try again, with less memory or fewer jobs at once"
        )


def _submit(
    pool: ThreadPoolExecutor,
    compile_one: Callable[[Planned], Trial],
    candidates: Sequence[Candidate],
    waiting: list[list[Future[Trial]]],
) -> None:
    """Enter the trials of each candidate as they are submitted. The pool runs all of them as it has room."""
    for candidate in candidates:
        waiting.append([])
        for planned in candidate.planned:
            waiting[-1].append(pool.submit(compile_one, planned))


def _finished(trials: Sequence[Future[Trial]]) -> Iterator[Trial]:
    for future in trials:
        if future.done() and not future.cancelled() and future.exception() is None:
            yield future.result()


def _trial(value: Value, result: Result, base: Result) -> Trial:
    if result.error is not None:
        return Trial(value, _VERDICTS[result.died], reason=_reason(result))
    ir_changes, object_changes = result.ir != base.ir, result.code != base.code
    return Trial(
        value,
        "changes" if ir_changes or object_changes else "same",
        instructions=result.instructions,
        object_size=len(result.code),
        instructions_change=_change(result.instructions, base.instructions),
        size_change=_change(len(result.code), len(base.code)),
        ir_changes=ir_changes,
        object_changes=object_changes,
    )


def _reason(result: Result) -> str:
    """The last words of the process, without a source file's path before them, or else the error."""
    return last_words(result.stderr) or " ".join((result.error or "").split())[:_REASON]


_VERDICTS: dict[Death | None, Verdict] = {
    None: "fails",
    "timeout": "timeout",
    "signal": "crashes",
    "exit": "crashes",
    "killed": "crashes",
}


def _change(now: int, before: int) -> float:
    return (now - before) / max(before, 1)


def _effect(candidate: Candidate, trials: Sequence[Trial], by: By) -> Effect:
    return Effect(
        candidate.option, candidate.type, candidate.base, candidate.functions, ranked_trials(trials, by)
    )
