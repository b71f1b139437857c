"""Search option values and pipelines for the best compilation of a file, with Optuna (pip install
'optctx[tune]'). Without --try, the options are those that change the compilation most; without a harness that
says how to call the code, the goal is its size. A trial that crashes LLVM or takes too long is a row with
that state.

    optctx tune kernel.c
    optctx tune kernel.ll --try unroll-count=1..16 --trials 200 --storage night.journal
    optctx tune kernel.ll --try inline-threshold=1..1000:log --by size --by instructions
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.progress import TextColumn, TimeElapsedColumn

from optctx import OptionContext
from optctx.compiling import Job
from optctx.errors import EndedEarlyError, Interrupted, OptctxError, shown
from optctx.lab.command.console import note, printed, progress_bar, put, say, show
from optctx.lab.command.groups import Base, File, Input, Out, Try, out
from optctx.lab.command.inputs import clang_words, note_skipped
from optctx.lab.outcome import Limits
from optctx.lab.repeat import Source
from optctx.lab.settings import group, setting
from optctx.lab.space import PASSES, Space, overrides_of, parse_space
from optctx.lab.timing import Kernel, Measuring, NoHarnessError
from optctx.lab.trial import Goal, Trial
from optctx.lab.tuning import Objective, Tuned, tune
from optctx.lab.tuning.objectives import objective_named
from optctx.lab.tuning.propose import propose
from optctx.lab.tuning.results import progress
from optctx.lab.tuning.search import Search
from optctx.lab.tuning.studies import Storage, need_optuna
from optctx.lab.tuning.tables import as_data, as_rows, as_table, ending, figure_text, summary
from optctx.outputs import hindrance

_PROPOSED = 8  # options, where none is given


@dataclass(frozen=True)
class Tune:
    """What a search goes by, and where it is kept."""

    title: ClassVar[str] = "goal and results"
    by: tuple[str, ...] = setting(
        (),
        "size, instructions, compile-time, time (of one call) or command; repeat for a Pareto "
        "front (time if there is a harness, or size)",
        metavar="GOAL[:max]",
        several=True,
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
    out: Out = out("table", "json", "csv")


def run(given: Arguments) -> None:
    """Search, print what was found, and how to go on after Ctrl-C. Raises OptctxError and OSError."""
    need_optuna()  # now rather than after clang
    best, out = given.own.best, given.out
    image = given.input.image
    base = given.base.context(image)
    with base:
        read = given.input.under(given.base)
        job, space, objectives = _prepared(given, read)
        options = tuple(base.args())
        source = Source(given.file, job, clang=clang_words(read.clang), options=options)
        try:
            found = _searched(given, job, space, objectives)
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


def _searched(given: Arguments, job: Job, space: Space, objectives: Sequence[Objective]) -> Tuned:
    columns = TimeElapsedColumn(), TextColumn("best: {task.fields[best]}", markup=False)
    with progress_bar("tuning", columns) as step:
        return tune(
            job,
            space,
            objectives,
            given.search,
            storage=given.own.storage,
            study=os.path.basename(given.file),
            limits=given.limits,
            on_trial=_Progress([each.goal for each in objectives], step).add,
        )


def _how_to_go_on(found: Tuned) -> str:
    words = f"interrupted after {progress(len(found.trials), found.total)}"
    return f"{words}; they are in {found.storage}: the same command goes on" if found.storage else words


def _prepared(given: Arguments, read: Input) -> tuple[Job, Space, list[Objective]]:
    """What is searched, after everything that can be judged before anything is compiled."""
    own, measuring = given.own, given.measuring
    goals = _goals_of(own.by, measuring, given.file)
    if own.best and len(goals) > 1:
        raise OptctxError(
            "several objectives have no best set to write; take --best out, or name one objective"
        )
    if own.best and (problem := hindrance(own.best)):
        raise OptctxError(f"cannot write {own.best}: {problem}")
    space = parse_space(given.varied.tries, read.pipelines, read.image)  # before minutes of work
    job = read.job(given.file, pipelines=True)
    note_skipped({given.file: job})
    settings = {**vars(measuring), "kernel": _kernel(goals, measuring, given.file, job)}
    objectives = [objective_named(text, **settings) for text in goals]
    if not space.dimensions:
        kept = _kept_space(own.storage, given.file, read, space)
        space = kept or _proposed(job, space, objectives, given.limits, given.search.seconds)
    return job, space, objectives


def _goals_of(texts: Sequence[str], measuring: Measuring, file: str) -> Sequence[str]:
    """The goals. By default it is the number of a command, or run time, if a command or a harness is named or
    the harness is beside the file; and size otherwise: nothing is called that no one has described.

    Raises OptctxError for a name that is none, and for the goal `command` without one.
    """
    for text in texts:
        if text.partition(":")[0] == "command" and not measuring.command:
            words = "the goal 'command' needs a command that prints a number: --command 'PROGRAM {object}'"
            raise OptctxError(words)
        objective_named(text, command=measuring.command)
    default = "command" if measuring.command else "time" if measuring.wants_time(file) else "size"
    return texts or [default]


def _kernel(goals: Sequence[str], measuring: Measuring, file: str, job: Job) -> Kernel:
    """What the goal `time` calls. Raises OptctxError; a harness to fill in is printed before."""
    if not any(goal.partition(":")[0] == "time" for goal in goals):
        return Kernel("main")
    try:
        return measuring.kernel(file, job)
    except NoHarnessError as error:
        put(error.text, end="")
        raise


def _proposed(
    job: Job, space: Space, objectives: list[Objective], limits: Limits, seconds: float | None
) -> Space:
    """The space with the options that change the goal most, of which the reader is told."""
    with progress_bar("choosing options", ()) as step:
        found = propose(
            job,
            _PROPOSED,
            objective=objectives[0],
            exclude=space.names,
            seconds=seconds,
            limits=limits,
            progress=step,
        )
    names = ", ".join(each.name for each in found)
    note(f"trying {len(found)} options that change the {objectives[0].goal.name}: {names}")
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
    if printed(out.format, lambda: as_data(found), lambda: as_rows(found)):
        return
    show(as_table(found))
    say(*summary(found))
    if found.finished and (lines := ending(found, source, saved)):
        say(*lines)


class _Progress:
    """What the line of progress shows: the best figures so far."""

    def __init__(self, goals: Sequence[Goal], step: Callable[..., None]) -> None:
        self._goals, self._step = goals, step
        self._best: dict[str, float] = {}

    def add(self, trial: Trial, total: int | None) -> None:
        for goal in self._goals:
            figure = trial.objectives.get(goal.name)
            if figure is not None and goal.better(figure, self._best.setdefault(goal.name, figure)):
                self._best[goal.name] = figure
        shown = (
            f"{goal.unit or goal.name} {figure_text(self._best[goal.name], goal)}"
            for goal in self._goals
            if goal.name in self._best
        )
        self._step(total, best=", ".join(shown))
