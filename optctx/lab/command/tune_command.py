"""`optctx tune`: search a space of option values for the best compilation of a file."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.lab.command.console import bar, complain, note, printed, say, show
from optctx.lab.command.files import check_writable, naming_module
from optctx.lab.command.groups import Base, Input, Keep, Out, Try, add_file, add_out
from optctx.lab.command.tune_objectives import goals_of, objectives_of
from optctx.lab.settings import add_flags, positive, setting, taken
from optctx.lab.sweep.plan import Limits
from optctx.lab.timing.measuring import Measuring
from optctx.lab.tuning.search import Search
from optctx.outputs import write_whole

if TYPE_CHECKING:
    from optctx.compiling import Job
    from optctx.lab.report import Source
    from optctx.lab.space import Dimension, Space
    from optctx.lab.trials import Goal, Trial
    from optctx.lab.tuning import Objective, Study, Tuning

__all__ = ["add", "print_study", "run"]

_PROPOSED = 8  # options, where none is given
_ROWS = 10  # of the table


DESCRIPTION = (
    "Search option values and pipelines for the best compilation of a file, with Optuna (pip "
    "install 'optctx[tune]'). Without --try, the options are those that change the compilation most; "
    "without a harness that says how to call the code, the goal is its size. A trial that crashes LLVM "
    "or takes too long is a row with that state."
)
EXAMPLE = (
    "optctx tune kernel.c\n"
    "optctx tune kernel.ll --try unroll-count=1..16 --trials 200 --keep night.journal --resume\n"
    "optctx tune kernel.ll --try inline-threshold=1..1000:log --by size --by instructions"
)


@dataclass(frozen=True)
class Tune:
    """What a search goes by, and where it runs."""

    title: ClassVar[str] = "goal"

    propose: int | None = setting(
        None,
        f"also try the N options that change the goal most ({_PROPOSED}, without --try)",
        metavar="N",
        read=positive,
    )
    by: tuple[str, ...] = setting(
        (),
        "size, instructions, compile-time, time (of one call of --entry), callgrind (instructions of one "
        "call) or command; repeat for a Pareto front (time if there is a harness, or size)",
        metavar="GOAL[:max]",
        several=True,
        completes=("size", "instructions", "compile-time", "time", "callgrind", "command"),
    )
    cluster: str | None = setting(
        None,
        "compile and measure on the Dask cluster of this scheduler, such as tcp://10.0.0.1:8786 (pip install "
        "'optctx[cluster]')",
        metavar="ADDRESS",
    )


@dataclass(frozen=True)
class Results:
    """What is written of a search."""

    title: ClassVar[str] = "results"

    best: str | None = setting(None, "write the best options, for --load", metavar="FILE", completes="file")
    emit_ir: str | None = setting(
        None,
        'write the module with the best options as attributes "optctx"',
        metavar="FILE",
        completes="file",
    )
    report: str | None = setting(
        None, "write a page that needs no network", metavar="FILE.html", completes="file"
    )
    wrong: str | None = setting(
        None, "where to put what reproduces wrong results (beside FILE of --keep)", metavar="FOLDER"
    )


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser)
    add_flags(parser, Input, Base, Try, Tune, Search, Measuring, Limits, Keep, Results)
    add_out(parser, rows=("top",), top=_ROWS)


def run(arguments: argparse.Namespace) -> int:
    """Search, print what was found, and how to go on after Ctrl-C. Raises OptctxError and OSError."""
    opened: list[Tuning] = []
    with ExitStack() as stack:
        try:
            _search(arguments, opened, stack)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_how_to_go_on(arguments, opened)) from None
    return 0


def _search(arguments: argparse.Namespace, opened: list[Tuning], stack: ExitStack) -> None:
    """Search, and show what was found. The search is in `opened` once its file is open."""
    from optctx.lab.tuning.samplers import need_optuna

    need_optuna()  # now rather than after clang
    shown = _Progress()
    base = taken(arguments, Base)
    stack.enter_context(base.context())
    given = taken(arguments, Input).under(base)
    tuning, hint = _tuning(arguments, given, shown, stack)
    source = _source(arguments, given, tuning.job)
    with naming_module(arguments.file), tuning:
        opened.append(tuning)
        tuning.note("source", dataclasses.asdict(source))
        try:
            with _bar(shown, tuning.total):
                study = tuning.run()
        except (KeyboardInterrupt, OptctxError):
            _show_unfinished(tuning, arguments, source)
            raise
    print_study(study, taken(arguments, Out), source, arguments.best)
    _report(study, arguments, source)
    if arguments.best:
        _save(study, arguments.best)
    if arguments.emit_ir:
        _emit(study, tuning.job, arguments.emit_ir)
    if hint and arguments.format == "table":
        say("", *hint.splitlines())


def _tuning(
    arguments: argparse.Namespace, given: Input, shown: _Progress, stack: ExitStack
) -> tuple[Tuning, str]:
    """The search, after everything that can be judged before anything is compiled; and a harness to fill in,
    if the search goes by size for want of one.
    """
    from optctx.lab import tuning
    from optctx.lab.space import parse_space
    from optctx.lab.tuning.marking import check_marking

    keep, limits = taken(arguments, Keep), taken(arguments, Limits)
    measuring = taken(arguments, Measuring)
    if arguments.cluster and limits.jobs:
        raise OptctxError("--jobs is for this machine, and --cluster for others; take one of them out")
    goals = goals_of(arguments.by, measuring)
    _check_outputs(arguments, len(goals))
    search = taken(arguments, Search)
    space = parse_space(taken(arguments, Try).tries, given.pipelines)  # now rather than after minutes of work
    job = given.job(arguments.file, pipelines=True)
    if arguments.emit_ir:
        check_marking(job.ir)
    with naming_module(arguments.file):
        objectives, hint = objectives_of(goals, measuring, arguments.file, job, helping=not space.dimensions)
        wanted = arguments.propose or (0 if space.dimensions else _PROPOSED)
        if wanted and keep.keep and keep.resume and os.path.exists(keep.keep):
            space = _kept_space(keep.keep, given)
        elif wanted:
            space = _proposed(job, space, objectives, wanted, limits)
    shown.goals = [each.goal for each in objectives]
    executor = None
    if arguments.cluster:
        from optctx.lab.tuning.dask import dask_executor

        executor = stack.enter_context(dask_executor(arguments.cluster))
    made = tuning.Tuning(
        job,
        space,
        objectives,
        search,
        limits=limits,
        keep=keep.keep,
        resume=keep.resume,
        executor=executor,
        wrong=arguments.wrong,
        on_trial=shown.add,
    )
    return made, hint


def _proposed(job: Job, space: Space, objectives: list[Objective], count: int, limits: Limits) -> Space:
    """The space with the options that change the goal most, of which the reader is told."""
    from optctx.lab.space import Space
    from optctx.lab.tuning.propose import propose

    with bar("choosing options") as drawn:
        task = drawn.add_task("", total=None)
        found: list[Dimension] = propose(
            job,
            count,
            objective=objectives[0],
            exclude=space.names,
            limits=limits,
            progress=lambda total: drawn.update(task, advance=1, total=total),
        )
    names = ", ".join(each.name for each in found)
    note(f"trying {len(found)} options that change the {objectives[0].goal.name}: {names}")
    return Space.of([*space.dimensions, *found])


def _kept_space(path: str, given: Input) -> Space:
    """The space of a search that goes on, in which options were proposed. Raises OptctxError."""
    from optctx.lab.space import PASSES, parse_space
    from optctx.lab.trials import read_trials

    texts = read_trials(path).identity.get("space")
    own = [text for text in texts if isinstance(text, str)] if isinstance(texts, list) else []
    return parse_space([text for text in own if not text.startswith(f"{PASSES}=")], given.pipelines)


def _source(arguments: argparse.Namespace, given: Input, job: Job) -> Source:
    from optctx.lab.report import Source

    return Source.of(arguments.file, job, clang=given.clang, clang_options=given.clang_options)


def _check_outputs(arguments: argparse.Namespace, objectives: int) -> None:
    """Raise OptctxError for a file that nothing could be written to in the end."""
    if arguments.report:
        from optctx.lab.report import check_report

        check_report(arguments.report)
    for name in ("best", "emit_ir"):
        path = getattr(arguments, name)
        if path and objectives > 1:
            raise OptctxError(
                f"several objectives have no best set to write; take --{name.replace('_', '-')} out, or name "
                "one objective"
            )
        if path:
            check_writable(path)


def _save(study: Study, path: str) -> None:
    """The best options, or none if nothing is better than the base."""
    options, passes = _best_set(study)
    OptionContext(options).save(path, passes=passes)


def _best_set(study: Study) -> tuple[dict[str, str], str]:
    """The options and the pipeline; of the base if nothing is better."""
    from optctx.lab.space import overrides_of

    best = study.best
    if best is None:
        return {}, study.base.passes
    return overrides_of(best.options if study.minimised is None else study.minimised), best.passes


def _emit(study: Study, job: Job, path: str) -> None:
    """Write the module with the best options as attributes. Raises OptctxError if they cannot be."""
    from optctx.lab.tuning.marking import marked_and_tried

    options, passes = _best_set(study)
    write_whole(path, marked_and_tried(dataclasses.replace(job, passes=passes), options))


def _report(study: Study, arguments: argparse.Namespace, source: Source) -> None:
    if arguments.report:
        from optctx.lab.report import write_report

        write_report(study, arguments.report, source=source)


def _show_unfinished(tuning: Tuning, arguments: argparse.Namespace, source: Source) -> None:
    """Show what was found before an interrupt or an error. A report that cannot be written hides neither."""
    if not tuning.begun:
        return
    print_study(tuning.study, taken(arguments, Out), source, arguments.best)
    try:
        _report(tuning.study, arguments, source)
    except OptctxError as error:
        complain(str(error))


def _how_to_go_on(arguments: argparse.Namespace, opened: list[Tuning]) -> str:
    where = arguments.keep
    after = f" after {opened[0].progress}" if opened else ""
    if not where or not (opened or os.path.exists(where)):
        return f"interrupted{after}"
    kept = f"they are in {where}" if opened else f"{where} keeps what it has"
    return f"interrupted{after}; {kept}: go on with --resume"


def print_study(study: Study, out: Out, source: Source, saved: str | None = None) -> None:
    """Print a study as `--format` says: for people, with the lines that compile as the best did.

    `saved`: the file that has the best set.
    """
    from optctx.lab.report.ending import ending
    from optctx.lab.report.tables import as_data, as_rows, as_table, summary

    if printed(out.format, lambda: as_data(study), lambda: as_rows(study)):
        return
    top = out.top or _ROWS
    show(as_table(study, top), least=("change",))
    say(*summary(study, top))
    if study.finished and (lines := ending(study, source, saved)):
        say(*lines)


class _Progress:
    """What the line of progress shows."""

    def __init__(self) -> None:
        self.goals: list[Goal] = []
        self.best: dict[str, float] = {}
        self.update: Callable[[str], None] = lambda text: None

    def add(self, trial: Trial) -> None:
        from optctx.lab.report.texts import figure_text

        for goal in self.goals:
            figure = trial.objectives.get(goal.name)
            if figure is not None and (
                goal.name not in self.best or goal.better(figure, self.best[goal.name])
            ):
                self.best[goal.name] = figure
        shown = (
            f"{goal.unit or goal.name} {figure_text(self.best[goal.name], goal)}"
            for goal in self.goals
            if goal.name in self.best
        )
        self.update(", ".join(shown))


@contextmanager
def _bar(shown: _Progress, total: int | None) -> Iterator[None]:
    """A bar on standard error while the block lasts, where that is a terminal, with the best figures so
    far.
    """
    from rich.progress import TextColumn, TimeElapsedColumn

    with bar("tuning", TimeElapsedColumn(), TextColumn("best: {task.fields[best]}", markup=False)) as drawn:
        task = drawn.add_task("", total=total, best="")
        shown.update = lambda best: drawn.update(task, advance=1, best=best)
        yield
