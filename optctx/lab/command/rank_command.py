"""Compile a file once to see which options LLVM reads, then with another value of each of them, many
together, and rank the options by effect. What crashes or never ends is a line of the result. Exit status 1 if
--verify finds a difference, 2 for bad input, 130 after Ctrl-C, 143 after SIGTERM.

    optctx rank kernel.ll --only 'unroll*' --trials 20
    optctx rank kernel.ll --by instructions --seconds 60 --keep ranking.trials
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from optctx.errors import EndedEarlyError, Interrupted
from optctx.lab.command.console import duration, note, printed, progress_bar, say, show
from optctx.lab.command.groups import Base, File, Input, Keep, Out, Try, out
from optctx.lab.command.inputs import note_skipped
from optctx.lab.rank import Estimate, Ranking, rank
from optctx.lab.rank.tables import as_data, as_rows, as_table, dead_table, not_tried_lines
from optctx.lab.settings import group, positive, seconds, setting
from optctx.lab.sweep import Limits
from optctx.wording import counted


@dataclass(frozen=True)
class Rank:
    """What a ranking does beside compiling."""

    title: ClassVar[str] = "ranking"
    only: tuple[str, ...] = setting(
        (),
        "try only these (all that LLVM reads); repeat for more",
        metavar="GLOB",
        several=True,
    )
    exclude: tuple[str, ...] = setting(
        (),
        "do not try these; repeat for more",
        flag="--not",
        metavar="GLOB",
        several=True,
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
    seconds: float | None = setting(
        None, "most seconds; no compilation takes longer, the base's neither", metavar="S", read=seconds
    )


@dataclass(frozen=True)
class Arguments(File):
    """What `optctx rank` takes."""

    input: Input = group(Input)
    base: Base = group(Base)
    varied: Try = group(Try)
    own: Rank = group(Rank)
    keep: Keep = group(Keep)
    limits: Limits = group(Limits)
    out: Out = out(rows=("top",))


def run(given: Arguments) -> int:
    """Compile, and print the ranking; after Ctrl-C that of what is known. Raises OptctxError and OSError.

    Returns 1 if a fresh process differs.
    """
    own = {**vars(given.own)}
    values = own.pop("values")
    with given.base.context():
        job = given.input.under(given.base).job(given.file)
        note_skipped({given.file: job})
        try:
            with progress_bar("values") as step:
                ranking = rank(
                    job,
                    **own,
                    **vars(given.keep),
                    values=given.varied.tries,
                    every=values != "one",
                    screen=values != "each",
                    limits=given.limits,
                    on_estimate=_say,
                    progress=step,
                )
        except Interrupted as interrupt:
            partial: Ranking = interrupt.partial
            print_ranking(partial, given.out)
            known = f"{len(partial.trials)} of {counted(len(partial.trials) + partial.left, 'value')}"
            raise KeyboardInterrupt(given.keep.interrupted(known)) from None
        except EndedEarlyError as error:
            if error.partial is not None:
                print_ranking(error.partial, given.out)
            raise
    print_ranking(ranking, given.out)
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
