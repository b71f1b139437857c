"""`optctx sweep`: compile a file under every combination of option values and compare."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from optctx.cli.compiling import add_job_arguments, job_of, positive, progress_bar
from optctx.cli.console import complain, output
from optctx.sweep import Row, as_csv, as_json, as_table, parse_axes, sweep
from optctx.sweep.grid import MOST_COMBINATIONS, count_combinations
from optctx.wording import counted

if TYPE_CHECKING:
    from argparse import _SubParsersAction

__all__ = ["add", "run"]

Format = Literal["table", "json", "csv"]


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "sweep",
        help="compile a file under every combination of option values",
        description="Compile a file of LLVM IR once per combination of option values, in threads of one "
        "process, and compare what comes out. Exit status 1 if --verify finds a difference, 2 for bad input.",
        example="optctx sweep kernel.ll --passes 'default<O3>' --set unroll-count=1,2,4,8 --verify",
    )
    add_job_arguments(parser)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE[,VALUE...]",
        dest="settings",
        help="an option and the values to try; the word 'default' leaves it alone; repeat for more options",
    )
    parser.add_argument("--verify", action="store_true", help="compare each with a fresh process")
    parser.add_argument("--jobs", type=positive, metavar="N", help="threads (one per processor)")
    parser.add_argument(
        "--max-combinations",
        type=positive,
        default=MOST_COMBINATIONS,
        metavar="N",
        help="refuse settings that have more (%(default)s)",
    )
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile, print the rows on standard output, and say if all agree. Raises OptctxError and OSError."""
    axes = parse_axes(arguments.settings)
    total = count_combinations(axes, arguments.max_combinations) * (2 if arguments.verify else 1)
    job = job_of(arguments)
    with progress_bar() as step:
        rows = sweep(
            job,
            axes,
            threads=arguments.jobs,
            verify=arguments.verify,
            max_combinations=arguments.max_combinations,
            progress=lambda: step(total),
        )
    _print(rows, arguments.format)
    differing = [row for row in rows if row.agrees is False]
    for row in differing:
        settings = " ".join(f"{name}={value}" for name, value in row.options.items())
        complain(f"{settings or 'no options'}: {row.difference}")
    return 1 if differing else 0


def _print(rows: Sequence[Row], form: str) -> None:
    match cast(Format, form):
        case "json":
            print(as_json(rows))
        case "csv":
            print(as_csv(rows), end="")
        case "table":
            output().print(as_table(rows))
            distinct = len({row.digest for row in rows})
            print(f"{counted(len(rows), 'combination')}, {counted(distinct, 'different object')}")
