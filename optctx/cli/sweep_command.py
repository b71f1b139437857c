"""`optctx sweep`: compile a file under every combination of option values and compare."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from llvmlite import binding
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from optctx.cli.console import output
from optctx.errors import OptctxError
from optctx.fresh import FreshProcess, Job
from optctx.sweep import Axis, Row, as_csv, as_json, as_table, parse_axes, sweep

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
    )
    parser.add_argument("file", help="LLVM IR as text; '-' for standard input")
    parser.add_argument("--passes", default="default<O3>", help="pipeline as for `opt -passes` (%(default)s)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE[,VALUE...]",
        dest="settings",
        help="an option and the values to try; the word 'default' leaves it alone; repeat for more options",
    )
    parser.add_argument("--verify", action="store_true", help="compare each with a fresh process")
    parser.add_argument("--jobs", type=_positive, metavar="N", help="threads (one per processor)")
    parser.add_argument("--triple", default="", help="target (the file's own, or this machine's)")
    parser.add_argument("--cpu", default="", help="processor, or 'native' for this one (a generic one)")
    parser.add_argument("--features", default="", help="such as +avx2,-fma")
    parser.add_argument("--opt-level", type=int, choices=range(4), default=2, help="of the code generator")
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile, print the rows on standard output, and say if all agree. Raises OptctxError and OSError."""
    axes = parse_axes(arguments.settings)
    job = _job(arguments)
    if job.triple or job.cpu or job.features:
        _check_target(job)
    rows = _sweep(job, axes, arguments.jobs, arguments.verify)
    _print(rows, arguments.format)
    differing = [row for row in rows if row.agrees is False]
    for row in differing:
        settings = " ".join(f"{name}={value}" for name, value in row.options.items())
        print(f"optctx: {settings or 'no options'}: {row.difference}", file=sys.stderr)
    return 1 if differing else 0


def _job(arguments: argparse.Namespace) -> Job:
    cpu, features = arguments.cpu, arguments.features
    if cpu == "native":
        cpu = binding.get_host_cpu_name()
        features = features or binding.get_host_cpu_features().flatten()
    return Job(
        ir=_read(arguments.file),
        passes=arguments.passes,
        triple=arguments.triple,
        cpu=cpu,
        features=features,
        opt_level=arguments.opt_level,
    )


def _read(path: str) -> str:
    try:
        if path == "-":
            return sys.stdin.read()
        with open(path, encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        raise OptctxError(f"{path} is not text; sweep reads LLVM IR in text form (see llvm-dis)") from None


def _check_target(job: Job) -> None:
    """LLVM prints about a processor or feature it does not know, or ends the process: let a fresh one try."""
    with FreshProcess() as fresh:
        trial = fresh.compile(
            Job(_TRIAL, "verify", triple=job.triple, cpu=job.cpu, features=job.features, emit="assembly")
        )
    if trial.error is not None:
        raise OptctxError(trial.error)
    if trial.stderr:
        raise OptctxError(trial.stderr.splitlines()[0])


_TRIAL = "define void @trial() { ret void }"


def _sweep(job: Job, axes: Sequence[Axis], threads: int | None, verify: bool) -> list[Row]:
    total = math.prod(len(axis.values) for axis in axes) * (2 if verify else 1)
    columns = (TextColumn("compiling"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=total)
        return sweep(job, axes, threads=threads, verify=verify, progress=lambda: bar.advance(task))


def _print(rows: Sequence[Row], form: str) -> None:
    match cast(Format, form):
        case "json":
            print(as_json(rows))
        case "csv":
            print(as_csv(rows), end="")
        case "table":
            output().print(as_table(rows))
            distinct = len({row.digest for row in rows})
            print(f"{len(rows)} combinations, {distinct} different objects")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected 1 or more, found {number}")
    return number
