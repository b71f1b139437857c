"""Search option values and pipelines for the best compilation of a file, with Optuna (pip install
'optctx[tune]'). Without --try, the options are those that change the compilation most; without a harness that
says how to call the code, the goal is its size. A trial that crashes LLVM or takes too long is a row with
that state.

    optctx tune kernel.c
    optctx tune kernel.ll --try unroll-count=1..16 --trials 200 --storage night.journal
    optctx tune kernel.ll --try inline-threshold=1..1000:log --by instructions
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.progress import TextColumn, TimeElapsedColumn

from optctx import OptionContext
from optctx.compiling import Job
from optctx.errors import EndedEarlyError, Interrupted, OptctxError, shown
from optctx.lab.command.console import note, printed, progress_bar, say, show
from optctx.lab.command.groups import Base, File, Input, Out, Try
from optctx.lab.command.inputs import clang_words, note_skipped
from optctx.lab.command.measuring import Measuring
from optctx.lab.outcome import Limits
from optctx.lab.repeat import Source
from optctx.lab.settings import group, setting
from optctx.lab.space import PASSES, Space, overrides_of, parse_space
from optctx.lab.trial import Goal, Trial
from optctx.lab.tuning import Objective, Search, Tuned, tune
from optctx.lab.tuning.objectives import objective_named
from optctx.lab.tuning.propose import propose
from optctx.lab.tuning.results import figure_text
from optctx.lab.tuning.studies import Storage, need_optuna
from optctx.outputs import hindrance

_PROPOSED = 8  # options, where none is given


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
        job, space, objective = _prepared(given, read)
        options = tuple(base.args())
        source = Source(given.file, job, clang=clang_words(read.clang), options=options)
        try:
            found = _searched(given, job, space, objective)
        except Interrupted as interrupt:
            partial: Tuned = interrupt.partial
            print_found(partial, out, source)
            raise KeyboardInterrupt(_how_to_go_on(partial)) from None
        except EndedEarlyError as error:
            if error.partial is not None:
                print_found(error.partial, out, source)
            raise
    try:
        print_found(found, out, source, best)
    finally:  # also where standard output takes no more, as in `| head`
        if best:
            winner = found.winner or found.base
            OptionContext(overrides_of(winner.options), image=image).save(best, passes=winner.passes)


def _searched(given: Arguments, job: Job, space: Space, objective: Objective) -> Tuned:
    columns = TimeElapsedColumn(), TextColumn("best: {task.fields[best]}", markup=False)
    with progress_bar("tuning", columns) as step:
        return tune(
            job,
            space,
            objective,
            given.search,
            storage=given.own.storage,
            study=os.path.basename(given.file),
            limits=given.limits,
            on_trial=_Progress(objective.goal, step).add,
        )


def _how_to_go_on(found: Tuned) -> str:
    words = f"interrupted after {found.count}"
    return f"{words}; they are in {found.storage}: the same command goes on" if found.storage else words


def _prepared(given: Arguments, read: Input) -> tuple[Job, Space, Objective]:
    """What is searched, after everything that can be judged before anything is compiled."""
    own, measuring = given.own, given.measuring
    goal = _goal_of(own, measuring, given.file)
    if own.best and (problem := hindrance(own.best)):
        raise OptctxError(f"cannot write {own.best}: {problem}")
    space = parse_space(given.varied.tries, read.pipelines, read.image)  # before minutes of work
    job = read.job(given.file, pipelines=True)
    note_skipped(given.file, job)
    kernel = measuring.kernel(given.file, job) if goal.partition(":")[0] == "time" else None
    objective = objective_named(goal, kernel=kernel, command=own.command)
    if not space.dimensions:
        kept = _kept_space(own.storage, given.file, read, space)
        space = kept or _proposed(job, space, objective, given.limits, given.search.seconds)
    return job, space, objective


def _goal_of(own: Tune, measuring: Measuring, file: str) -> str:
    """The goal. By default it is the number of a command, or run time, if a command or a harness is named or
    the harness is beside the file; and size otherwise: nothing is called that no one has described.

    Raises OptctxError for a name that is none, and for the goal `command` without one.
    """
    if own.by.partition(":")[0] == "command" and not own.command:
        words = "the goal 'command' needs a command that prints a number: --command 'PROGRAM {object}'"
        raise OptctxError(words)
    if own.by:
        objective_named(own.by, command=own.command)
    default = "command" if own.command else "time" if measuring.wants_time(file) else "size"
    return own.by or default


def _proposed(job: Job, space: Space, objective: Objective, limits: Limits, seconds: float | None) -> Space:
    """The space with the options that change the goal most, of which the reader is told."""
    with progress_bar("choosing options", ()) as step:
        found = propose(
            job,
            _PROPOSED,
            objective=objective,
            exclude=space.names,
            seconds=seconds,
            limits=limits,
            progress=step,
        )
    names = ", ".join(each.name for each in found)
    note(f"trying {len(found)} options that change the {objective.name}: {names}")
    return Space.of([*space.dimensions, *found], job.image)


def _kept_space(storage: str | None, file: str, given: Input, wanted: Space) -> Space | None:
    """The space of a study that goes on, in which options were proposed beside those that are `wanted`.

    None if there is no such study. Raises OptctxError for one that does not try what is wanted.
    """
    opened, name = Storage(storage), os.path.basename(file)
    try:
        identity = opened.identity(name)
    finally:
        opened.close()
    if identity is None:
        return None
    texts = [text for text in identity.get("space", ()) if not text.startswith(f"{PASSES}=")]
    space = parse_space(texts, given.pipelines, given.image)
    if other := [text for text in wanted.texts() if text not in space.texts()]:
        raise OptctxError(
            f"cannot continue the study {shown(name)} in {opened.named}: it does not try {other[0]}; repeat "
            "its arguments, or name another storage"
        )
    return space


def print_found(found: Tuned, out: Out, source: Source, saved: str | None = None) -> None:
    """Print a search as `--format` says: for people, with the lines that compile as the best did.

    `saved`: the file that has the best set.
    """
    if printed(out.format, found.as_data):
        return
    show(found.as_table())
    say(*found.summary())
    if found.finished and (lines := found.ending(source, saved)):
        say(*lines)


class _Progress:
    """What the line of progress shows: the best figure so far."""

    def __init__(self, goal: Goal, step: Callable[..., None]) -> None:
        self._goal, self._step = goal, step
        self._best: float | None = None

    def add(self, trial: Trial, total: int | None) -> None:
        goal, figure = self._goal, trial.objectives.get(self._goal.name)
        if figure is not None and (self._best is None or goal.better(figure, self._best)):
            self._best = figure
        shown = "" if self._best is None else f"{goal.unit or goal.name} {figure_text(self._best, goal)}"
        self._step(total, best=shown)
