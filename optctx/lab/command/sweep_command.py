"""Compile a file once per combination of option values and compare what comes out. The combinations are
compiled on threads of a worker process. A combination that LLVM refuses, that crashes LLVM or that takes too
long is a row with that state. Exit status 1 if --verify finds a difference, 2 for bad input and if --verify
cannot compare a row, 130 after Ctrl-C, 143 after SIGTERM.

    optctx sweep kernel.ll --try unroll-count=1,2,4,8 --verify
    optctx sweep kernel.ll --try unroll-count=1..64:step=9 --by instructions
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from optctx.lab.command.console import complain, complain_printed, partly, printed, progress_bar, say, show
from optctx.lab.command.groups import Base, File, Input, Out, Try
from optctx.lab.command.inputs import note_skipped
from optctx.lab.outcome import Limits
from optctx.lab.settings import group, setting
from optctx.lab.space import overrides_of
from optctx.lab.sweep import sweep
from optctx.lab.tables import best_text, change_text, ends_of, settings_text, trial_table
from optctx.lab.trial import Goal, Trial, goal_named
from optctx.wording import counted


@dataclass(frozen=True)
class Sweep:
    """What a sweep does beside compiling."""

    title: ClassVar[str] = "trials"
    by: str = setting(
        "size",
        "what is best: size, instructions or compile-time, each [:min|:max] (%(default)s)",
        metavar="GOAL",
    )
    verify: bool = setting(False, "compare each trial with a fresh process")


@dataclass(frozen=True)
class Arguments(File):
    """What `optctx sweep` takes."""

    input: Input = group(Input)
    base: Base = group(Base)
    varied: Try = group(Try)
    own: Sweep = group(Sweep)
    limits: Limits = group(Limits)
    out: Out = group(Out)


def run(given: Arguments) -> int:
    """Compile all combinations, and print them; after Ctrl-C those so far. Raises OptctxError and OSError.

    Returns 1 if a fresh process differs, and 2 if one could not compare.
    """
    out, goal = given.out, goal_named(given.own.by)
    read = given.input.under(given.base)
    with given.base.context(read.image):
        job = read.job(given.file)
        note_skipped(given.file, job)
        lines: Counter[str] = Counter()

        def so_far(trials: Sequence[Trial]) -> str:
            print_trials(trials, out, goal, lines)
            return f" after {counted(sum(trial.number >= 0 for trial in trials), 'trial')}"

        with partly(so_far), progress_bar() as step:
            trials = sweep(
                job,
                given.varied.tries,
                **vars(given.own),
                limits=given.limits,
                baseline=bool(given.varied.tries) and out.format == "table",
                printed=lines,
                on_trial=lambda trial, total: step(total),
            )
    print_trials(trials, out, goal, lines)
    if any(trial.agrees is False for trial in trials):
        return 1
    return 2 if any(trial.difference for trial in trials) else 0


def print_trials(trials: Sequence[Trial], out: Out, goal: Goal, lines: Counter[str]) -> None:
    """Print the trials, what LLVM printed, and what differs from fresh processes."""
    base = next((trial for trial in trials if trial.number < 0), None)
    own = [trial for trial in trials if trial is not base]
    if not printed(out.format, lambda: own) and trials:
        show(trial_table(own, base, goal))
        say(*_summary(own, base, goal))
    complain_printed(lines)
    for trial in own:
        if trial.difference:
            settings = settings_text(trial.options) or "no options"
            complain(f"{settings}: {trial.difference}")


def _summary(trials: Sequence[Trial], base: Trial | None, goal: Goal) -> list[str]:
    """Lines with the best trial (of several that tie, one that sets the fewest options), and with counts."""
    best = goal.best_of(sorted(trials, key=lambda trial: len(overrides_of(trial.options))))
    objects = len({trial.digest for trial in trials if trial.digest})
    counts = [counted(len(trials), "combination"), counted(objects, "different object"), *ends_of(trials)]
    lines = [", ".join(counts)]
    if best is not None and len(trials) > 1:
        lines.insert(0, f"best {best_text(goal, best.options, change_text(best, base))}")
    return lines
