"""Finds the smallest set of overrides, and the smallest values, with which a compilation still fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import pairwise

from optctx import OptionContext, registry
from optctx.errors import OptctxError
from optctx.facts import INTEGER_RANGES
from optctx.fresh import Job
from optctx.testing.compiler import Compiler, DiedError

__all__ = ["smallest"]

_NEAR = 4  # distances from the registered value to try one by one

Options = tuple[str, ...]


def smallest(job: Job, fails: Callable[[Job], bool] | None = None, *, timeout: float = 10.0) -> Job:
    """Reduce the options of a failing job to those that its failure needs, and their integers.

    If any of the remaining options is removed, the job does not fail. Each integer is as near to its
    registered value as bisection finds. The same job gives the same result. Two compilations run at once.

    Args:
        job: A compilation that fails.
        fails: Says whether a job fails; called on two threads. By default a job fails if it dies in a fresh
            process as this one does: by a crash with the same last line, or by taking too long.
        timeout: Seconds for each compilation of the default.

    Raises:
        OptctxError: The job does not fail, or has an option or a value that LLVM refuses.
    """
    given = OptionContext.from_args(job.options, base="defaults", process_wide="exclusive")
    with Compiler(timeout=timeout) as compiler, ThreadPoolExecutor(2) as pool:
        search = _Search(pool, job, fails or _dies_like(compiler, job))
        return replace(job, options=search.nearest(search.fewest(tuple(given.args()))))


def _dies_like(compiler: Compiler, job: Job) -> Callable[[Job], bool]:
    """Make a function that says whether a job dies as this one does."""
    wanted = _death(compiler, job)
    return lambda tried: wanted is not None and _death(compiler, tried) == wanted


def _death(compiler: Compiler, job: Job) -> tuple[type[DiedError], str] | None:
    """How a job dies, and LLVM's last words without numbers, which may be option values."""
    try:
        compiler.compile(job)
    except DiedError as error:
        return type(error), re.sub(r"\d+", "", error.last_line)
    return None


class _Search:
    """Tries smaller options of one job, two at a time."""

    def __init__(self, pool: ThreadPoolExecutor, job: Job, fails: Callable[[Job], bool]) -> None:
        self._pool = pool
        self._job = job
        self._fails = fails

    def fewest(self, options: Options) -> Options:
        """Delta debugging: leave out halves, quarters, ... until no single option can be left out."""
        if self._first([options]) is None:
            raise OptctxError(
                f"nothing to reduce: the compilation with {' '.join(options) or 'no options'} does not fail"
            )
        if self._first([()]) is not None:
            return ()
        pieces = 2
        while len(options) > 1:
            found = self._first([*_pieces(options, pieces), *_without_pieces(options, pieces)])
            if found is not None:
                options, pieces = found, 2 if len(found) <= len(options) // pieces else max(pieces - 1, 2)
            elif pieces < len(options):
                pieces = min(2 * pieces, len(options))
            else:
                break
        return options

    def nearest(self, options: Options) -> Options:
        """Move every integer as near to its registered value as bisection finds."""
        for place, argument in enumerate(options):
            name, _, text = argument.lstrip("-").partition("=")
            option = registry()[name]
            if option.type in INTEGER_RANGES and isinstance(option.default, int):
                near = partial(_with_value, options, place, name, option.default)
                options = near(self._bisected(near, int(text, 0) - option.default))
        return options

    def _bisected(self, near: Callable[[int], Options], distance: int) -> int:
        """The smallest distance that fails, of those tried. `distance` itself is known to fail."""
        sign = -1 if distance < 0 else 1
        smaller = [sign * step for step in range(min(_NEAR, abs(distance)))]
        found = self._first([near(each) for each in smaller])
        if found is not None:
            return next(each for each in smaller if near(each) == found)
        passes, fails = len(smaller) - 1, abs(distance)
        while fails - passes > 1:
            middle = (passes + fails) // 2
            if self._first([near(sign * middle)]) is None:
                passes = middle
            else:
                fails = middle
        return sign * fails

    def _first(self, tries: Sequence[Options]) -> Options | None:
        """The first set of options that fails, or None."""
        jobs = [replace(self._job, options=each) for each in tries]
        return next(
            (each for each, failed in zip(tries, self._pool.map(self._fails, jobs), strict=True) if failed),
            None,
        )


def _with_value(options: Options, place: int, name: str, default: int, distance: int) -> Options:
    return (*options[:place], f"-{name}={default + distance}", *options[place + 1 :])


def _pieces(options: Options, count: int) -> list[Options]:
    """Split the options into `count` pieces, whose lengths differ by at most one."""
    ends = [len(options) * number // count for number in range(count + 1)]
    return [options[start:end] for start, end in pairwise(ends)]


def _without_pieces(options: Options, count: int) -> list[Options]:
    """For each piece, the options without it. Nothing for halves: without one half, the other is left."""
    ends = [len(options) * number // count for number in range(count + 1)]
    return [options[:start] + options[end:] for start, end in pairwise(ends)] if count > 2 else []
