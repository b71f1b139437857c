"""`optctx rank`: ranks the options that LLVM reads for a file by how they change the output."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from optctx import OptionContext
from optctx.errors import Interrupted, OptctxError
from optctx.lab.command.compiling import add_job_arguments, job_of, progress_bar
from optctx.lab.command.console import put, say, show
from optctx.lab.command.files import naming_module
from optctx.lab.command.parser import positive, seconds
from optctx.lab.command.settings import add_settings
from optctx.lab.sensitivity import Limits, Report, as_csv, as_json, as_table, save_plot, sensitivity
from optctx.lab.sensitivity.plot import check_plot
from optctx.lab.sensitivity.table import dead_table, not_tried_lines
from optctx.lab.sweep import Axis, parse_axes
from optctx.wording import printable

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "rank",
        description="Compile a file of LLVM IR once to see which options LLVM reads, then once for each "
        "other value of each of them, in fresh processes, and rank the options by effect. Exit status 2 for "
        "bad input, 130 after Ctrl-C, 143 after SIGTERM.",
        example="optctx rank kernel.ll --options 'unroll*' --max-trials 20\n"
        "optctx rank kernel.ll --by instructions --plot rank.png",
    )
    add_job_arguments(parser)
    add_settings(parser, "an LLVM option that the base and every trial have; repeat for more")
    parser.add_argument(
        "--try",
        action="append",
        default=[],
        metavar="NAME=VALUE[,VALUE...]",
        dest="tries",
        help="values to try for an option instead of those chosen by its type; repeat for more",
    )
    parser.add_argument(
        "--options",
        nargs="+",
        default=[],
        metavar="GLOB",
        help="try only these (default: all that LLVM reads)",
    )
    parser.add_argument("--exclude", nargs="+", default=[], metavar="GLOB", help="do not try these")
    parser.add_argument(
        "--by",
        choices=("instructions", "size"),
        default="size",
        help="what to rank by (default: %(default)s)",
    )
    _add_limits(parser)
    parser.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="how to print (default: table)"
    )
    parser.add_argument(
        "--top",
        type=positive,
        metavar="N",
        help="options in the table (default: all) and in the plot (default: 30)",
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="draw them into a .png, .svg or .pdf; needs matplotlib"
    )
    parser.set_defaults(run=run)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--max-trials", type=positive, metavar="N", help="most compilations to make (default: no limit)"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="S",
        help="seconds for a trial (default: 20 times the base, at least 10)",
    )
    parser.add_argument(
        "--memory",
        type=positive,
        default=4096,
        metavar="MIB",
        help="memory for a trial, in MiB (default: %(default)s)",
    )
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="trials at once (default: one per processor)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Compile, and print and draw the ranking; after Ctrl-C that of the trials so far. Raises OptctxError and
    OSError.
    """
    base = {axis.name: _only(axis) for axis in parse_axes(arguments.settings)}
    tries = {axis.name: axis.values for axis in parse_axes(arguments.tries)}
    if arguments.plot:
        check_plot(arguments.plot)  # now rather than after minutes of work
    job = job_of(arguments)
    limits = Limits(arguments.timeout, arguments.memory << 20, arguments.max_trials, arguments.jobs)
    context = OptionContext(base, process_wide="exclusive")
    try:
        with naming_module(arguments.file), context, progress_bar() as step:
            report = sensitivity(
                job,
                options=arguments.options,
                exclude=arguments.exclude,
                values=tries,
                by=arguments.by,
                limits=limits,
                progress=step,
            )
    except Interrupted as interrupt:
        _print(interrupt.partial, arguments.format, arguments.top)
        raise KeyboardInterrupt(interrupt.partial.progress) from None
    _print(report, arguments.format, arguments.top)
    if arguments.plot:
        name = printable(os.path.basename(arguments.file))  # a picture has no fonts for the rest
        save_plot(report, arguments.plot, title=f"{name}, {arguments.passes}", top=arguments.top)
    return 0


def _only(axis: Axis) -> str:
    if len(axis.values) != 1:
        raise OptctxError(
            f"the base has one value for {axis.name!r}, found {', '.join(axis.values)}; use --try for others"
        )
    return axis.values[0]


def _print(report: Report, form: str, top: int | None) -> None:
    match form:
        case "json":
            put(as_json(report))
        case "csv":
            put(as_csv(report), end="")
        case _:
            if report.changing:
                show(as_table(report, top))
                say("")
            if report.dead:
                show(dead_table(report))
                say("")
            say(*not_tried_lines(report), report.summary())
