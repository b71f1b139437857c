"""Compile once to see what LLVM reads, then once for each other value, each time in a fresh process."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from optctx import Read, current, record
from optctx.errors import OptctxError
from optctx.fresh import FreshProcess, Job, Result
from optctx.fresh.base import thread_arguments
from optctx.fresh.helper import last_words
from optctx.fresh.job import Death, compile_unchecked
from optctx.registry.values import Value
from optctx.sensitivity.choose import Candidate, Planned, choose, targets_of
from optctx.sensitivity.report import By, Effect, Report, Trial, Verdict, ranked_effects, ranked_trials

__all__ = ["Limits", "reads_of", "sensitivity"]

_BASE = 120.0  # seconds that the base may take, or as long as is given for the trials
_LEAST = 10.0  # seconds that any trial may take
_TIMES_BASE = 20  # and how many times the base's own
_REASON = 200  # characters that are kept of what a process said at its end


@dataclass(frozen=True)
class Limits:
    """What the compilations may take.

    `timeout`: seconds for each trial, by default 20 times what the base took but no less than 10 s.
    `memory`: bytes of address space for each, beyond those of LLVM itself. `trials`: how many at most; the
    first value of every option comes before the second of any. `jobs`: how many at once, by default one per
    processor.
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
    """Which of the options that LLVM reads for `job` change the output when they are changed.

    The base is `job` with the values that the calling thread sees now. One option is changed at a time,
    within its type: the other one of a bool, every other choice, a few numbers. `options` and `exclude` are
    names or globs of what to try (all that is read) and what not. `values` (option name -> command-line
    texts) replaces what would be tried for an option, which is tried whatever `options` says. `by` says what
    the ranking goes by. `progress` is called after each trial, on any thread, with the number of all of them.

    Each trial is compiled in a fresh process, in an empty folder that is removed in the end: what crashes,
    never ends or takes all memory is part of the report and reaches nothing else. The base alone is
    compiled on this thread as well, to see what is read; it does not reach other threads either.

    Raises OptctxError for a module, pipeline or target that LLVM refuses, for a pattern that matches no
    option, where a fresh process gives another output for the base than this thread (functions with the
    attribute "optctx") or than before the trials (a helper that was killed); UnknownOptionError for
    other names; OptionValueError for process-wide values without a text form; ScopeError as `current` does,
    UnsupportedImageError as `record` does.
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
            progress(total)
            return _trial(planned.value, result, base)

        trials = _in_parallel(pool, compile_one, chosen.candidates)
        _check_again(base, fresh.compile(job))
    effects = [_effect(candidate, own, by) for candidate, own in zip(chosen.candidates, trials, strict=True)]
    return Report(
        by=by,
        instructions=base.instructions,
        object_size=len(base.code),
        read=len(reads),
        effects=ranked_effects(effects, by),
        not_tried=chosen.not_tried,
        refused=chosen.refused,
    )


@contextmanager
def _cancelled_on_error(pool: ThreadPoolExecutor) -> Iterator[None]:
    """Innermost, so that the fresh processes end next and nothing waits for those that still run."""
    try:
        yield
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise


def reads_of(job: Job, base: Result) -> Mapping[str, Read]:
    """What LLVM reads for the base, which a fresh process has compiled: it does not end this process."""
    if base.error is not None:
        raise OptctxError(base.error)
    # An object alone: what only the printing of IR reads is no candidate.
    with record() as log:
        here = compile_unchecked(replace(job, emit="object"))
    if here.error is not None or (here.code, here.instructions) != (base.code, base.instructions):
        raise OptctxError(
            "cannot try other values: a fresh process compiles this module otherwise than this thread does "
            f'({here.error or "the outputs differ"}); take out function attributes "optctx" and bindings'
        )
    return log.reads


def _check_again(base: Result, again: Result) -> None:
    """That the helper lives and still gives the same, so that the trials are worth something."""
    if again != base:
        raise OptctxError(
            "cannot trust the trials: after them the base came out otherwise "
            f"({again.error or 'another output'}); try again, with less memory or fewer jobs at once"
        )


def _in_parallel(
    pool: ThreadPoolExecutor, compile_one: Callable[[Planned], Trial], candidates: Sequence[Candidate]
) -> list[list[Trial]]:
    """The trials of each candidate, all of them running as the pool has room."""
    waiting = [[pool.submit(compile_one, each) for each in candidate.planned] for candidate in candidates]
    return [[future.result() for future in own] for own in waiting]


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
    """What the process said last of all before its end, without the path of a source file before it."""
    return last_words(result.stderr) or " ".join((result.error or "").split())[:_REASON]


_VERDICTS: dict[Death | None, Verdict] = {
    None: "fails",
    "timeout": "timeout",
    "signal": "crashes",
    "exit": "crashes",
}


def _change(now: int, before: int) -> float:
    return (now - before) / max(before, 1)


def _effect(candidate: Candidate, trials: Sequence[Trial], by: By) -> Effect:
    return Effect(
        candidate.option, candidate.type, candidate.base, candidate.functions, ranked_trials(trials, by)
    )
