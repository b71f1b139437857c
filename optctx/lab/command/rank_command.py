"""`optctx rank`: ranks the options that LLVM reads for a file by how they change the output."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import ClassVar

from optctx.errors import Interrupted
from optctx.lab.command.console import duration, note, printed, progress_bar, say, show
from optctx.lab.command.files import naming_module
from optctx.lab.command.groups import Base, Input, Keep, Out, Try, add_file, add_out
from optctx.lab.rank import Estimate, Ranking, rank
from optctx.lab.rank.tables import as_data, as_rows, as_table, dead_table, not_tried_lines
from optctx.lab.settings import add_flags, positive, seconds, setting, taken
from optctx.lab.sweep import Limits
from optctx.wording import counted

__all__ = ["add", "print_ranking", "run"]


@dataclass(frozen=True)
class Rank:
    """What a ranking does beside compiling."""

    title: ClassVar[str] = "ranking"
    only: tuple[str, ...] = setting(
        (),
        "try only these (all that LLVM reads); repeat for more",
        metavar="GLOB",
        several=True,
        completes="option",
    )
    exclude: tuple[str, ...] = setting(
        (),
        "do not try these; repeat for more",
        flag="--not",
        metavar="GLOB",
        several=True,
        completes="option",
    )
    by: str = setting("size", "what to rank by: size, instructions or compile-time", metavar="GOAL")
    values: str = setting(
        "one",
        "of each option: one far from its own, or all that are guessed by type, many compiled together; or "
        "each of all by itself (default: %(default)s)",
        choices=("one", "all", "each"),
    )
    verify: bool = setting(False, "compare each value with a fresh process")
    trials: int | None = setting(
        None, "most compilations; the largest effects are found first", metavar="N", read=positive
    )
    seconds: float | None = setting(None, "most seconds", metavar="S", read=seconds)


DESCRIPTION = (
    "Compile a file once to see which options LLVM reads, then with another value of each of "
    "them, many together, and rank the options by effect. What crashes or never ends is a line of "
    "the result. Exit status 1 if --verify finds a difference, 2 for bad input, 130 after Ctrl-C, 143 "
    "after SIGTERM."
)
EXAMPLE = (
    "optctx rank kernel.ll --only 'unroll*' --trials 20\n"
    "optctx rank kernel.ll --by instructions --seconds 60 --keep ranking.journal"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser)
    add_flags(parser, Input, Base, Try, Rank, Keep, Limits)
    add_out(parser, rows=("top",))


def run(arguments: argparse.Namespace) -> int:
    """Compile, and print the ranking; after Ctrl-C that of what is known. Raises OptctxError and OSError.

    Returns 1 if a fresh process differs.
    """
    own, keep, limits = taken(arguments, Rank), taken(arguments, Keep), taken(arguments, Limits)
    base, out = taken(arguments, Base), taken(arguments, Out)
    with base.context():
        job = taken(arguments, Input).under(base).job(arguments.file)
        try:
            with naming_module(arguments.file), progress_bar("values") as step:
                ranking = rank(
                    job,
                    only=own.only,
                    exclude=own.exclude,
                    values=taken(arguments, Try).tries,
                    by=own.by,
                    every=own.values != "one",
                    screen=own.values != "each",
                    verify=own.verify,
                    trials=own.trials,
                    seconds=own.seconds,
                    limits=limits,
                    keep=keep.keep,
                    resume=keep.resume,
                    on_estimate=_say,
                    progress=step,
                )
        except Interrupted as interrupt:
            partial: Ranking = interrupt.partial
            print_ranking(partial, out)
            known = f"{len(partial.trials)} of {counted(len(partial.trials) + partial.left, 'value')}"
            kept = f"; {keep.keep} keeps them: go on with --resume" if keep.keep else ""
            raise KeyboardInterrupt(f"interrupted after {known}{kept}") from None
    print_ranking(ranking, out)
    return 1 if any(trial.agrees is False for trial in ranking.trials) else 0


def _say(estimate: Estimate) -> None:
    """Say what it is going to take."""
    note(
        f"{counted(estimate.options, 'option')}, {counted(estimate.values, 'value')}: about "
        f"{counted(estimate.compilations, 'compilation')}, {duration(estimate.seconds)} or more"
    )


def print_ranking(ranking: Ranking, out: Out) -> None:
    """Print it as `--format` says."""
    if printed(out.format, lambda: as_data(ranking), lambda: as_rows(ranking)):
        return
    if ranking.changing:
        show(as_table(ranking, out.top))
        if out.top is not None and out.top < len(ranking.changing):
            say(f"{out.top} of {counted(len(ranking.changing), 'option')} that change the output")
        say("")
    if ranking.dead:
        show(dead_table(ranking))
        say("")
    say(*not_tried_lines(ranking), *ranking.summary())
