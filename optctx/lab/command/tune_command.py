"""`optctx tune`: search a space of option values for the best compilation of a file."""

from __future__ import annotations

import argparse
import dataclasses
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from optctx import OptionContext
from optctx.errors import OptctxError
from optctx.lab.command.compiling import add_job_arguments, job_of, positive, seconds
from optctx.lab.command.console import bar, complain, put, say, show
from optctx.lab.command.files import check_writable, naming_module
from optctx.lab.command.parser import tolerance, whole
from optctx.lab.command.settings import add_settings
from optctx.lab.command.tune_objectives import fitted, objectives_of
from optctx.lab.settings import completing
from optctx.outputs import write_whole

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.compiling import Job
    from optctx.lab.command.parser import Parser
    from optctx.lab.trials import Goal
    from optctx.lab.tuning import Study, Trial, Tuning

__all__ = ["add", "run"]


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "tune",
        description="Search a space of option values and pipelines for the best compilation of a file, with "
        "Optuna (pip install 'optctx[tune]'). A trial that crashes LLVM or takes too long is a row with that "
        "state. Exit status 2 for bad input, 130 after Ctrl-C, 143 after SIGTERM.",
        example="optctx tune kernel.ll --set unroll-count=1..16 --trials 200 --study night.db --resume\n"
        "optctx tune kernel.ll --set inline-threshold=1..1000:log --objective size --objective instructions",
    )
    add_job_arguments(parser, pipelines=True)
    add_settings(
        parser,
        "an option and the values to try: 1..16, 1..1024:log, 0..64:step=8, a,b,c; the word 'default' "
        "leaves it alone; ' if OTHER==VALUE' behind them says when it counts; repeat for more options",
        "VALUES",
    )
    goal = parser.add_argument(
        "--objective",
        action="append",
        default=[],
        metavar="NAME[:max]",
        dest="objectives",
        help="size (the default), instructions, compile-time, time (of one call of --entry), callgrind "
        "(instructions of one call) or command; repeat for a Pareto front",
    )
    completing(goal, ("size", "instructions", "compile-time", "time", "callgrind", "command"))
    _add_measuring(parser)
    sampler = parser.add_argument(
        "--sampler", default="tpe", metavar="NAME", help="tpe, cmaes, nsga2, random or grid (%(default)s)"
    )
    completing(sampler, ("tpe", "cmaes", "nsga2", "random", "grid"))
    pruner = parser.add_argument(
        "--pruner",
        default="none",
        metavar="NAME",
        help="stop slow trials between rounds of a run time: median, percentile:25, halving, hyperband or "
        "threshold:1.5 (%(default)s)",
    )
    completing(pruner, ("none", "median", "percentile", "halving", "hyperband", "threshold"))
    parser.add_argument("--seed", type=whole, default=0, metavar="N", help="of the search (%(default)s)")
    _add_limits(parser)
    parser.add_argument(
        "--study",
        metavar="FILE",
        help="keep each trial as it ends in an SQLite file, or in the database of a URL",
    )
    parser.add_argument("--resume", action="store_true", help="go on with the study in FILE, if there is one")
    parser.add_argument(
        "--propose",
        type=positive,
        metavar="N",
        help="also search N options that change the output most, found by trying all that LLVM reads",
    )
    parser.add_argument(
        "--minimise", action="store_true", help="drop options from the best trial that do not matter"
    )
    parser.add_argument(
        "--best", metavar="FILE", help="write the best options to a TOML file for OptionContext.load"
    )
    parser.add_argument(
        "--emit-ir",
        metavar="FILE",
        help='write the module with the best options as the attribute "optctx" of its functions',
    )
    parser.add_argument(
        "--report",
        metavar="FILE",
        help="write a report, one page that needs no network: FILE.html",
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument(
        "--top", type=positive, default=10, metavar="N", help="trials in the table (%(default)s)"
    )
    parser.set_defaults(run=run)


def _add_measuring(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--entry",
        metavar="FUNCTION",
        help="what to call for time and callgrind (as the harness says; without one, a function without "
        "arguments)",
    )
    parser.add_argument(
        "--harness", metavar="FILE", help="what it is called with, in TOML (FILE.toml beside the file)"
    )
    parser.add_argument(
        "--tolerance",
        type=tolerance,
        default=0.0,
        metavar="X",
        help="relative difference of floats that is no wrong result (0: every bit counts)",
    )
    parser.add_argument(
        "--absolute-tolerance",
        type=tolerance,
        default=0.0,
        metavar="X",
        help="absolute difference of floats that is no wrong result; either tolerance is enough",
    )
    parser.add_argument(
        "--processor", type=whole, metavar="N", help="where kernels are timed (one that is free)"
    )
    parser.add_argument(
        "--measure-seconds",
        type=seconds,
        default=5.0,
        metavar="S",
        help="for the run times of eight trials, which are taken together (%(default)s)",
    )
    parser.add_argument(
        "--command",
        metavar="COMMAND",
        help="for the objective command: it prints a number last; '{object}' stands for the object's path",
    )
    parser.add_argument(
        "--wrong-results",
        metavar="FOLDER",
        help="where to put what reproduces them (FILE of --study + .wrong)",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--trials", type=positive, metavar="N", help="trials of the whole study (100, without another limit)"
    )
    parser.add_argument("--seconds", type=seconds, metavar="S", help="time for this run of the search")
    parser.add_argument(
        "--patience", type=positive, metavar="N", help="stop after so many trials without progress"
    )
    parser.add_argument("--jobs", type=positive, metavar="N", help="compilations at once (one per processor)")
    parser.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="compile and measure on the Dask cluster of this scheduler, such as tcp://10.0.0.1:8786 "
        "(pip install 'optctx[cluster]')",
    )
    parser.add_argument(
        "--window",
        type=positive,
        metavar="N",
        help="trials under way at once; the search depends on it (8; 'random' and 'grid' keep all workers "
        "busy)",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="S",
        help="for each compilation (20 times the time of the base, at least 10 seconds)",
    )
    parser.add_argument(
        "--memory", type=positive, default=4096, metavar="MIB", help="for each compilation (%(default)s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Search, print what was found, and how to go on after Ctrl-C. Raises OptctxError and OSError."""
    opened: list[Tuning] = []
    try:
        _search(arguments, opened)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_how_to_go_on(arguments, opened)) from None
    return 0


def _search(arguments: argparse.Namespace, opened: list[Tuning]) -> None:
    """Search, and show what was found. The search is in `opened` once it has its study."""
    from optctx.lab.tuning.samplers import need_optuna

    need_optuna()  # now rather than after clang
    shown = _Progress()
    tuning = _tuning(arguments, shown)
    with naming_module(arguments.file), tuning:
        opened.append(tuning)
        try:
            with _bar(shown, arguments.trials):
                study = tuning.run()
        except (KeyboardInterrupt, OptctxError):
            _show_unfinished(tuning, arguments)
            raise
    _print(study, arguments)
    _report(study, tuning, arguments)
    if arguments.best:
        _save(study, arguments.best)
    if arguments.emit_ir:
        _emit(study, tuning.job, arguments.emit_ir)


def _tuning(arguments: argparse.Namespace, shown: _Progress) -> Tuning:
    """Everything that can be judged before anything is compiled."""
    from optctx.lab.tuning import Budget, Space, Tuning, parse_space, propose
    from optctx.lab.tuning.marking import check_marking

    objectives = objectives_of(arguments)
    if arguments.cluster and arguments.jobs:
        raise OptctxError("--jobs is for this machine, and --cluster for others; take one of them out")
    _check_outputs(arguments, len(objectives))
    shown.goals = [each.goal for each in objectives]
    limited = arguments.seconds is not None or arguments.patience is not None
    trials = arguments.trials or (None if limited else 100)
    space = parse_space(arguments.settings, arguments.pipelines)  # now rather than after minutes of work
    arguments.passes = (arguments.pipelines or ["default<O3>"])[0]
    job = job_of(arguments)
    if arguments.emit_ir:
        check_marking(job.ir)
    with naming_module(arguments.file):
        objectives = [fitted(objective, job, arguments) for objective in objectives]
        if arguments.propose:
            proposed = propose(job, arguments.propose, exclude=space.names)
            space = Space.of([*space.dimensions, *proposed])
    return Tuning(
        job,
        space,
        objectives,
        sampler=arguments.sampler,
        seed=arguments.seed,
        budget=Budget(trials, arguments.seconds, arguments.patience),
        study=arguments.study,
        resume=arguments.resume,
        threads=arguments.jobs,
        timeout=arguments.timeout,
        memory=arguments.memory << 20,
        wrong=arguments.wrong_results,
        minimise=arguments.minimise,
        cluster=arguments.cluster,
        pruner=arguments.pruner,
        window=arguments.window,
        on_trial=shown.add,
    )


def _check_outputs(arguments: argparse.Namespace, objectives: int) -> None:
    """Raise OptctxError for a file that nothing could be written to in the end."""
    from optctx.lab.report import check_report

    if arguments.report:
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
    """The best options, or none if nothing is better than the base. Several objectives have no best set."""
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
    text = marked_and_tried(dataclasses.replace(job, passes=passes), options)
    write_whole(path, text)


def _report(study: Study, tuning: Tuning, arguments: argparse.Namespace) -> None:
    if not arguments.report:
        return
    from optctx.lab.report import Source, write_report

    source = Source.of(
        arguments.file, tuning.job, clang=arguments.clang, clang_options=arguments.clang_options
    )
    write_report(study, arguments.report, source=source)


def _show_unfinished(tuning: Tuning, arguments: argparse.Namespace) -> None:
    """Show what was found before an interrupt or an error. A report that cannot be written hides neither."""
    if not tuning.begun:
        return
    _print(tuning.study, arguments)
    try:
        _report(tuning.study, tuning, arguments)
    except OptctxError as error:
        complain(str(error))


def _how_to_go_on(arguments: argparse.Namespace, opened: list[Tuning]) -> str:
    where = arguments.study
    after = f" after {opened[0].progress}" if opened else ""
    if not where or not (opened or os.path.exists(where)):
        return f"interrupted{after}"
    kept = f"they are in {where}" if opened else f"{where} keeps what it has"
    return f"interrupted{after}; {kept}: go on with --resume"


def _print(study: Study, arguments: argparse.Namespace) -> None:
    from optctx.lab.report.tables import as_json, as_table, summary

    if arguments.format == "json":
        put(as_json(study))
        return
    show(as_table(study, arguments.top))
    say(*summary(study))


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
