"""The fewest options, and the smallest values, with which a compilation still fails or keeps a property."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import cast

from optctx import OptionContext, registry
from optctx.children.death import End
from optctx.compiling import FreshProcess, Job, Result
from optctx.compiling.facts import INTEGER_RANGES, arguments
from optctx.errors import Interrupted, OptctxError
from optctx.lab.outcome import Limits
from optctx.lab.program import Program
from optctx.process import option_name

_NEAR = 4  # distances from the registered value to try one by one
HANGS = 10  # times its limit for which a compilation has to run until it counts as a hang

Options = tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """How a compilation fails. Two failures are the same if state and words are equal, but for numbers."""

    state: End
    words: str

    def __str__(self) -> str:
        return f"{self.state}: {self.words}" if self.words else self.state

    def is_like(self, other: Failure | None) -> bool:
        """Whether another compilation fails in the same way. Numbers in LLVM's words may be option values."""
        return other is not None and self._plain == other._plain

    @property
    def _plain(self) -> tuple[End, str]:
        return self.state, re.sub(r"\d+", "", self.words)


@dataclass(frozen=True)
class Reduced:
    """`job`: with the fewest options. `failure`: how it fails; None where another property is kept.
    `given`: options that there were. `compilations`: different ones that it took.
    """

    job: Job
    failure: Failure | None
    given: int
    compilations: int


def failure_of(result: Result) -> Failure | None:
    """How a compilation failed. None: it did not. Raises OptctxError if its end says nothing of LLVM."""
    if result.error is None:
        return None
    match result.end:
        case "failed":
            return Failure("failed", result.error)
        case "crashed":
            return Failure("crashed", result.error)
        case "timed out" | "out of memory":
            return Failure(result.end, "")
    raise OptctxError(f"cannot compile: {result.error}")


def reduce_options(
    job: Job,
    keeps: Callable[[Job], bool] | str | None = None,
    *,
    values: bool = True,
    limits: Limits = Limits(),  # noqa: B008  frozen
    progress: Callable[[str], object] = lambda words: None,
) -> Reduced:
    """Reduce the options of a failing job to those that its failure needs, and their integers.

    If any of the remaining options is removed, the job does not fail. Each integer is as near to its
    registered value as bisection finds. The same job gives the same result.

    Args:
        job: A compilation that fails.
        keeps: Says whether a job still has the property, on several threads; or a command such as
            "PROGRAM {object}", which exits with status 0 for an object that has it. By default the property
            is to fail in a fresh process as this job does, with the same last words.
        values: Whether integers move towards their registered values, too.
        limits: What one compilation may take, and one run of the command; and how many tries run at once.
            The base is the compilation without options. A job that takes too long is reduced to one that
            runs for ten times as long at least: on the border of the limit, another machine or less load
            would show no hang.
        progress: Is told the best options so far.

    Nothing reaches this process or its options.

    Raises:
        OptctxError: The job does not fail, or has an option or a value that LLVM refuses.
        Interrupted: Ctrl-C. Its `partial` is what was found so far.
    """
    job = replace(job, options=arguments(job.options, job.image))
    with ExitStack() as stack:
        # Left in this order, tries that wait are answered at once: nothing goes on after Ctrl-C.
        pool = stack.enter_context(ThreadPoolExecutor(limits.at_once))
        search = _Search(pool, job, *_kept(job, keeps, limits, stack), progress, values)
        try:
            search.run()
        except KeyboardInterrupt:
            raise Interrupted(search.reduced) from None
        return search.reduced


def _kept(
    whole: Job, keeps: Callable[[Job], bool] | str | None, limits: Limits, stack: ExitStack
) -> tuple[Callable[[Job], bool], Failure | None, str]:
    """(whether a job has what is to be kept, asked on several threads; how the whole job fails, if that is
    kept; what having it is, for an error).
    """
    if callable(keeps):
        return keeps, None, "keep the property"
    fresh = stack.enter_context(FreshProcess(timeout=limits.seconds(), memory=limits.memory))
    program = None if keeps is None else stack.enter_context(Program(keeps))
    bare = fresh.compile(replace(whole, options=()))
    failure_of(bare)  # raises
    seconds = limits.seconds(bare.seconds)
    if program is not None:

        def exits_well(job: Job) -> bool:
            result = fresh.compile(replace(job, emit="object"), timeout=seconds)
            return failure_of(result) is None and program.accepts(result.code, seconds)

        return exits_well, None, "keep the property"
    failure = failure_of(fresh.compile(whole, timeout=seconds))
    times, words = 1, "fail"
    if failure is not None and failure.state == "timed out":
        times = HANGS
        late = f"it takes longer than {seconds:g} s, but not {HANGS} times as long"
        words = f"hang: {late}; give a longer timeout"

    def fails(job: Job) -> bool:
        found = failure_of(fresh.compile(job, timeout=times * seconds))
        return failure is not None and failure.is_like(found)

    return fails, failure, words


@dataclass
class _Search:
    """Tries smaller options of one job, several at a time.

    `holds`, `failure`, `words`: as `_kept` has them. `values`: whether integers are moved. `best`: the
    smallest so far that have the property. `known`: options that were tried, and whether they have it.
    """

    pool: ThreadPoolExecutor
    job: Job
    holds: Callable[[Job], bool]
    failure: Failure | None
    words: str
    progress: Callable[[str], object]
    values: bool

    def __post_init__(self) -> None:
        self.best = self.job.options
        self.known: dict[Options, bool] = {}

    @property
    def reduced(self) -> Reduced:
        """What is found so far."""
        best = replace(self.job, options=self.best)
        return Reduced(best, self.failure, len(self.job.options), len(self.known))

    def run(self) -> None:
        """Find the fewest options with the smallest values: none of them can be left out."""
        if self._first([self.best]) is None:
            words = " ".join(self.best) or "no options"
            raise OptctxError(f"nothing to reduce: the compilation with {words} does not {self.words}")
        before: Options = ()
        self._first([()])
        while before != self.best:  # another value may make an option needless
            before = self.best
            options = self._fewest(before)
            self.best = self._nearest(options) if self.values else options

    def _fewest(self, options: Options) -> Options:
        """Delta debugging: leave out halves, quarters, ... until no single option can be left out."""
        pieces = 2
        while len(options) > 1:
            found = self._first(_smaller(options, pieces))
            if found is not None:
                options, pieces = found, 2 if len(found) <= len(options) // pieces else max(pieces - 1, 2)
            elif pieces < len(options):
                pieces = min(2 * pieces, len(options))
            else:
                break
        return options

    def _nearest(self, options: Options) -> Options:
        """Move every integer that a context can hold as near to its registered value as bisection finds."""
        for place, argument in enumerate(options):
            option = registry(self.job.image)[option_name(argument)]
            if option.type in INTEGER_RANGES and option.scope != "process":
                default = cast("int", option.default)
                value = OptionContext.from_args([argument], image=self.job.image)[option.name]
                near = partial(_with_value, options, place, option.name, default)
                options = near(self._bisected(near, cast("int", value) - default))
        return options

    def _bisected(self, near: Callable[[int], Options], distance: int) -> int:
        """The smallest distance with the property, of those tried. `distance` itself is known to have it."""
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
        """The first options that have the property, or None."""
        new = [each for each in dict.fromkeys(tries) if each not in self.known]
        answers = self.pool.map(self.holds, [replace(self.job, options=each) for each in new])
        for each in tries:
            if each not in self.known:
                self.known[each] = next(answers)
            if self.known[each]:
                self.best = each
                self.progress(" ".join(each) or "no options")
                return each
        return None


def _with_value(options: Options, place: int, name: str, default: int, distance: int) -> Options:
    return (*options[:place], f"-{name}={default + distance}", *options[place + 1 :])


def _smaller(options: Options, count: int) -> list[Options]:
    """Pieces of the options, whose lengths differ by at most one, and the options without each of them.

    Without one half, the other is left.
    """
    ends = [len(options) * number // count for number in range(count + 1)]
    pieces = [options[start:end] for start, end in pairwise(ends)]
    rests = [options[:start] + options[end:] for start, end in pairwise(ends)]
    return [*pieces, *rests] if count > 2 else pieces
