"""Compile a file once to see which options LLVM reads, then once with another value of each of them, and rank
the options by effect. What crashes or never ends is a line of the result. Exit status 2 for bad input, 130
after Ctrl-C, 143 after SIGTERM.

    optctx rank kernel.ll --only 'unroll*' --trials 20
    optctx rank kernel.ll --by instructions --seconds 60
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from optctx.lab.command.console import partly, printed, progress_bar, say, show
from optctx.lab.command.groups import Base, File, Input, Out, Try
from optctx.lab.command.inputs import note_skipped
from optctx.lab.outcome import Limits
from optctx.lab.rank import Effect, Ranking, rank
from optctx.lab.settings import group, positive, seconds, setting
from optctx.lab.tables import Table, percent, table_of
from optctx.wording import counted


@dataclass(frozen=True)
class Rank:
    """What a ranking does beside compiling."""

    title: ClassVar[str] = "ranking"
    only: tuple[str, ...] = setting(
        (),
        "try only these (all that LLVM reads); repeat for more",
        metavar="GLOB",
    )
    by: str = setting("size", "what to rank by: size, instructions or compile-time", metavar="GOAL")
    trials: int | None = setting(
        None, "most compilations; options that often matter come first", metavar="N", read=positive
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
    limits: Limits = group(Limits)
    out: Out = group(Out)


def run(given: Arguments) -> None:
    """Compile, and print the ranking; after Ctrl-C that of what is known. Raises OptctxError and OSError."""
    with given.base.context(given.input.image):
        job = given.input.under(given.base).job(given.file)
        note_skipped(given.file, job)
        with partly(partial(_so_far, out=given.out)), progress_bar("values") as step:
            ranking = rank(
                job,
                **vars(given.own),
                values=given.varied.tries,
                limits=given.limits,
                progress=step,
            )
    print_ranking(ranking, given.out)


def _so_far(ranking: Ranking, out: Out) -> str:
    print_ranking(ranking, out)
    known = len(ranking.trials)
    return f" after {known} of {counted(known + ranking.left, 'value')}"


def print_ranking(ranking: Ranking, out: Out) -> None:
    """Print it as `--format` says."""
    if printed(out.format, lambda: ranking):
        return
    if ranking.changing:
        show(_table(ranking))
        say("")
    if ranking.dead:
        show(_dead(ranking))
        say("")
    say(*_not_tried(ranking), *ranking.summary())


def _table(ranking: Ranking) -> Table:
    """The options that change the output, the largest effect first."""
    columns: dict[str, Callable[[Effect], str]] = {
        "option": lambda effect: effect.option,
        "type": lambda effect: effect.type,
        "base": lambda effect: effect.base,
        "value": lambda effect: effect.value,
        "IR instructions": lambda effect: percent(ranking.change(effect.best, "instructions")),
        "object bytes": lambda effect: percent(ranking.change(effect.best, "size")),
        "values": lambda effect: str(len(effect.trials)),
    }
    return table_of(ranking.changing, columns, right=[*columns][4:])


def _dead(ranking: Ranking) -> Table:
    """Trials that crashed, timed out or failed."""
    rows = [
        (effect.option, effect.base, trial.options[effect.option], trial.state, trial.error)
        for effect, trial in ranking.dead
    ]
    return Table(("option", "base", "value", "state", "error"), rows)


def _not_tried(ranking: Ranking) -> list[str]:
    """One line for each reason, with the options."""
    by_reason: dict[str, list[str]] = {}
    for each in ranking.not_tried:
        by_reason.setdefault(each.reason, []).append(each.option)
    return [f"not tried, {reason}: {', '.join(names)}" for reason, names in by_reason.items()]
