"""Search option values for the best compilation of a file, with Optuna (pip install
'optctx[tune]'). Without --try, the options are those that change the compilation most; without a harness that
says how to call the code, the goal is its size. A trial that crashes LLVM or takes too long is a row with
that state.

    optctx tune kernel.c
    optctx tune kernel.ll --try unroll-count=1..16 --trials 200 --storage night.journal
    optctx tune kernel.ll --try inline-threshold=1..1000:log --by instructions
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar

from optctx import OptionContext
from optctx.compiling import Job
from optctx.errors import OptctxError, shown
from optctx.lab.command.console import complain, partly, printed, progress_bar, say, show
from optctx.lab.command.groups import Base, File, Input, Out, Try
from optctx.lab.command.inputs import clang_words, note_skipped
from optctx.lab.outcome import Limits
from optctx.lab.repeat import Source, lines_of, shown_lines
from optctx.lab.settings import group, setting
from optctx.lab.space import Space, parse_space
from optctx.lab.tables import best_text, change_text, ends_of, trial_table
from optctx.lab.timing.bench import Measuring
from optctx.lab.trial import FIGURES, direction_of
from optctx.lab.tuning import Command, RunTime, Search, Tuned, propose, tune
from optctx.lab.tuning.studies import kept_space, named, need_optuna
from optctx.outputs import hindrance
from optctx.wording import counted

_PROPOSED = 8  # options, where none is given
_ROWS = 10  # of the table
By = str | RunTime | Command


@dataclass(frozen=True)
class Tune:
    """What a search goes by, and where it is kept."""

    title: ClassVar[str] = "goal and results"
    by: str = setting(
        "",
        "size, instructions, compile-time, time (of one call) or command (time with a harness, else size)",
        metavar="GOAL[:max]",
    )
    command: str = setting(
        "",
        "a program for the goal command: it prints a number last; '{object}' stands for the object's path",
        metavar="'PROGRAM {object}'",
    )
    storage: str | None = setting(
        None,
        "make or continue a study of Optuna's in a file, or in a database such as sqlite:///night.db",
        metavar="FILE|URL",
    )
    best: str | None = setting(None, "write the best options, for --load", metavar="FILE")


@dataclass(frozen=True)
class Arguments(File):
    """What `optctx tune` takes."""

    input: Input = group(Input)
    base: Base = group(Base)
    varied: Try = group(Try)
    own: Tune = group(Tune)
    search: Search = group(Search)
    measuring: Measuring = group(Measuring)
    limits: Limits = group(Limits)
    out: Out = group(Out)


def run(given: Arguments) -> None:
    """Search, print what was found, and how to go on after Ctrl-C. Raises OptctxError and OSError."""
    need_optuna()  # now rather than after clang
    best, out = given.own.best, given.out
    image = given.input.image
    base = given.base.context(image)
    with base:
        read = given.input.under(given.base)
        job, space, by = _prepared(given, read)
        options = tuple(base.args())
        source = Source(given.file, job, clang=clang_words(read.clang), options=options)

        def so_far(found: Tuned) -> str:
            print_found(found, out, source)
            place = given.own.storage
            return f" after {_count(found)}{f'; the same command goes on in {named(place)}' if place else ''}"

        with partly(so_far), progress_bar("tuning") as step:
            found = tune(
                job,
                space,
                by,
                given.search,
                storage=given.own.storage,
                study=os.path.basename(given.file),
                limits=given.limits,
                on_trial=lambda trial, total: step(total),
            )
    if best:  # first: standard output may take no more, as in `| head`
        OptionContext(found.minimised or {}, image=image).save(best, passes=job.passes)
    print_found(found, out, source, best)


def _prepared(given: Arguments, read: Input) -> tuple[Job, Space, By]:
    """What is searched, after everything that can be judged before anything is compiled."""
    own, goal = given.own, _goal(given)
    if own.best and (problem := hindrance(own.best)):
        raise OptctxError(f"cannot write {own.best}: {problem}")
    name = os.path.basename(given.file)
    tries = given.varied.tries or kept_space(own.storage, name)  # what was proposed before
    space = parse_space(tries, read.image)  # before minutes of work
    job = read.job(given.file)
    note_skipped(given.file, job)
    by: By = goal
    if goal == "time":
        by = RunTime(given.measuring.kernel(given.file, job))
    elif goal.startswith("command"):
        by = Command(own.command, direction_of(goal))
    if not space.dimensions:
        space = _proposed(job, goal, given.limits, given.search.seconds)
    return job, space, by


def _goal(given: Arguments) -> str:
    """The goal. By default it is the number of a command, or run time, if a command or a harness is named or
    the harness is beside the file; and size otherwise: nothing is called that no one has described.

    Raises OptctxError for a name that is none, and for the goal `command` without one.
    """
    command = given.own.command
    default = "command" if command else "time" if given.measuring.wants_time(given.file) else "size"
    by = given.own.by or default
    name = by.partition(":")[0]
    if by != "time" and name not in (*FIGURES, "command"):  # nothing searches for slow code
        raise OptctxError(f"expected a goal of {', '.join(FIGURES)}, time, command, found {shown(by)}")
    if name == "command" and not command:
        words = "the goal 'command' needs a command that prints a number: --command 'PROGRAM {object}'"
        raise OptctxError(words)
    direction_of(by)  # raises
    return by


def _proposed(job: Job, by: str, limits: Limits, seconds: float | None) -> Space:
    """The space with the options that change the goal most, of which the reader is told."""
    with progress_bar("choosing options") as step:
        found = propose(job, _PROPOSED, by=by, seconds=seconds, limits=limits, progress=step)
    names = ", ".join(each.name for each in found)
    goal, _, _ = by.partition(":")
    complain(f"trying {len(found)} options that change the {goal}: {names}")
    return Space.of(found, job.image)


def print_found(found: Tuned, out: Out, source: Source, saved: str | None = None) -> None:
    """Print a search as `--format` says: for people, with the lines that compile as the best did.

    `saved`: the file that has the best set.
    """
    if printed(out.format, found.as_data):
        return
    show(trial_table(found.ranked[:_ROWS], found.base, found.goal))
    say(*summary(found))
    if found.finished and found.minimised is not None:
        lines = lines_of(found.minimised, source)
        say(*shown_lines(lines))
        if lines["numba"]:
            say(f"Numba: {lines['numba']}")
        where = f"the best set is in {saved}" if saved else "--best FILE keeps the best set"
        say(f"{where}, for --load")


def _count(found: Tuned) -> str:
    """How many trials there are, and of how many if it is not finished: "8 of 12 trials"."""
    count = len(found.trials)
    if found.finished or found.total is None:
        return counted(count, "trial")
    return f"{count} of {counted(found.total, 'trial')}"


def summary(found: Tuned) -> list[str]:
    """Lines that say what is best, how the trials ended, and why the search did."""
    counts = [_count(found), *ends_of(found.trials)]
    if (rows := len(found.ranked)) > _ROWS:
        counts.append(f"{_ROWS} of {rows} rows shown")
    checked, refuted = found.confirmation, []
    if checked is not None and not checked["gain"]:
        refuted = [f"trial {checked['trial']}: {checked['text']}"]
    why = f"ended: {found.ended}" if found.finished else "not finished"
    return [_best_line(found), *refuted, f"{', '.join(counts)}; {why}"]


def _best_line(found: Tuned) -> str:
    """What is best, or that nothing is."""
    goal, so_far = found.goal, "" if found.finished else " so far"
    best = found.best if found.finished else found.best_so_far
    if best is None and goal.confirmed and found.finished:
        return "no gain in run time was found and confirmed"
    if best is None:
        return f"no trial{so_far} is better than the base by {goal.unit or goal.name}"
    notes = [change_text(best, found.base)]
    if goal.confirmed:
        checked = found.confirmation if found.best is not None else None
        notes = [*notes, "not confirmed"] if checked is None else [checked["text"]]
    options = best.options if found.minimised is None else found.minimised
    return f"best{so_far} {best_text(goal, options, *notes)}"
