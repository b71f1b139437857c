"""`optctx sweep`: compiles files under every combination of option values, and compares the results."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from optctx.errors import OptctxError
from optctx.lab.command.compiling import add_job_arguments, jobs_of, positive, progress_bar, seconds
from optctx.lab.command.console import complain, complain_printed, put, say, show
from optctx.lab.command.files import naming_module
from optctx.lab.command.settings import add_settings
from optctx.lab.sweep import Axis, Row, as_csv, as_json, as_table, combinations, parse_axes, sweep
from optctx.lab.sweep.grid import MOST_COMBINATIONS, count_combinations
from optctx.lab.sweep.order import FIGURES, check_column, sorted_rows
from optctx.lab.sweep.plot import check_sweep_plot, save_sweep_plot
from optctx.lab.sweep.rowfile import FileFormat, RowFile, identity, open_rows
from optctx.lab.sweep.table import summary
from optctx.outputs import GoneError

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.fresh import Job

__all__ = ["add", "run"]

Format = Literal["table", "json", "csv"]


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "sweep",
        description="Compile each file once per combination of option values and compare what comes out. "
        "The combinations are compiled on threads of a worker process. A combination that LLVM refuses, that "
        "crashes LLVM or that takes too long is a row with that state. Exit status 1 if --verify finds a "
        "difference, 2 for bad input and if --verify cannot compare a row, 130 after Ctrl-C, 143 after "
        "SIGTERM.",
        example="optctx sweep kernel.ll --passes 'default<O3>' --set unroll-count=1,2,4,8 --verify",
    )
    add_job_arguments(parser, several=True)
    add_settings(
        parser,
        "an option and the values to try; the word 'default' leaves it alone; repeat for more options",
        "VALUE[,VALUE...]",
    )
    parser.add_argument("--verify", action="store_true", help="compare each row with a fresh process")
    _add_limits(parser)
    _add_output(parser)
    parser.set_defaults(run=run)


def _add_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=positive, metavar="N", help="combinations compiled at once (one per processor)"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="time limit for each combination (20 times the time of the baseline, at least 10 seconds)",
    )
    parser.add_argument(
        "--memory",
        type=positive,
        default=4096,
        metavar="MIB",
        help="memory limit for each combination (%(default)s)",
    )
    parser.add_argument(
        "--max-combinations",
        type=positive,
        default=MOST_COMBINATIONS,
        metavar="N",
        help="refuse settings that have more (%(default)s)",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table")
    parser.add_argument(
        "--sort",
        metavar="COLUMN",
        help="sort by an option, file, state, instructions, object_size or seconds",
    )
    parser.add_argument(
        "--by", choices=FIGURES, default="size", help="what the best row and the plot go by (%(default)s)"
    )
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="append each row to FILE as soon as it is complete; --format chooses CSV or JSON lines, and "
        "beside a table FILE is CSV if its name ends with .csv",
    )
    parser.add_argument(
        "--resume", action="store_true", help="compile only the combinations that have no row in FILE yet"
    )
    parser.add_argument(
        "--plot",
        metavar="FILE",
        help="draw a curve over one option or a heat map over two: .png, .svg or .pdf; needs matplotlib",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compile, and print the rows. Raises OptctxError and OSError.

    Returns 1 if a fresh process differs, and 2 if one could not compare.
    """
    path = arguments.output
    try:
        return _swept(arguments)
    except KeyboardInterrupt as interrupt:
        if interrupt.args or not path or not os.path.exists(path):
            raise
        words = f"interrupted; {path} keeps what it has: go on with --resume"
        raise KeyboardInterrupt(words) from None


def _swept(arguments: argparse.Namespace) -> int:
    axes = parse_axes(arguments.settings)
    files = len(arguments.files)
    total = count_combinations(axes, arguments.max_combinations, files=files) * files
    if arguments.sort:
        check_column(arguments.sort, [axis.name for axis in axes])
    if arguments.plot:
        check_sweep_plot(arguments.plot, axes, files)  # now rather than after minutes of work
    if arguments.resume and not arguments.output:
        raise OptctxError("cannot resume without a file; name the one to go on with: -o FILE")
    jobs = jobs_of(arguments)
    rows: list[Row] = []  # filled as rows come
    printed: Counter[str] = Counter()
    try:
        with naming_module(arguments.files[0]) if files == 1 else contextlib.nullcontext():
            rows = _sweep(arguments, jobs, axes, rows, printed)
    except KeyboardInterrupt:
        if not rows:
            raise
        _finish(arguments, _in_order(rows, jobs, axes), printed)
        path = arguments.output
        kept = f"; their rows are in {path}: go on with --resume" if path else ""
        raise KeyboardInterrupt(f"interrupted after {len(rows)} of {total} combinations{kept}") from None
    except OptctxError as error:
        if rows and (not arguments.output or isinstance(error, GoneError)):  # else the rows would be lost
            _finish(arguments, _in_order(rows, jobs, axes), printed)
        raise
    _finish(arguments, rows, printed)
    if arguments.plot:
        title = f"{', '.join(map(os.path.basename, jobs))}, {arguments.passes}"
        save_sweep_plot(rows, axes, arguments.plot, by=arguments.by, title=title)
    if any(row.agrees is False for row in rows):
        return 1
    return 2 if any(row.difference for row in rows) else 0


def _sweep(
    arguments: argparse.Namespace,
    jobs: Mapping[str, Job],
    axes: Sequence[Axis],
    rows: list[Row],
    printed: Counter[str],
) -> list[Row]:
    """Return all rows. New ones are also added to `rows` and written to the file."""
    with _row_file(arguments, jobs, axes) as file, progress_bar() as step:
        if file is not None and arguments.resume:
            rows += file.read([axis.name for axis in axes])
        done = list(rows)
        count = count_combinations(axes, arguments.max_combinations, files=len(jobs)) * len(jobs)
        total = (count - len(done)) * (2 if arguments.verify else 1)

        def keep(row: Row) -> None:
            rows.append(row)
            if file is not None:
                _write(file, row, arguments.output, len(rows), count)

        found = sweep(
            jobs,
            axes,
            threads=arguments.jobs,
            verify=arguments.verify,
            timeout=arguments.timeout,
            memory=arguments.memory << 20,
            max_combinations=arguments.max_combinations,
            baseline=bool(axes) and (arguments.format == "table" or bool(arguments.plot)),
            done=done,
            on_row=keep,
            printed=printed,
            progress=lambda: step(total),
        )
        if file is not None:
            file.check_in_place()
        return found


@contextlib.contextmanager
def _row_file(
    arguments: argparse.Namespace, jobs: Mapping[str, Job], axes: Sequence[Axis]
) -> Iterator[RowFile | None]:
    if not arguments.output:
        yield None
        return
    csv = arguments.format == "csv" or (arguments.format == "table" and arguments.output.endswith(".csv"))
    form: FileFormat = "csv" if csv else "json"
    tag = identity(jobs, axes, verify=arguments.verify)
    with open_rows(arguments.output, form, tag, resume=arguments.resume) as file:
        yield file


def _write(file: RowFile, row: Row, path: str, count: int, total: int) -> None:
    try:
        file.write(row)
    except OSError as error:
        raise OptctxError(
            f"cannot write to {path}: {error.strerror}; it has {count - 1} of {total} rows, go on "
            "with --resume"
        ) from None


def _in_order(rows: Sequence[Row], jobs: Mapping[str, Job], axes: Sequence[Axis]) -> list[Row]:
    """The rows in the order in which a complete sweep returns them."""
    files = list(jobs)
    places = {tuple(options.values()): place for place, options in enumerate(combinations(axes))}
    return sorted(rows, key=lambda row: (files.index(row.file), places[tuple(row.options.values())]))


def _finish(arguments: argparse.Namespace, rows: Sequence[Row], printed: Counter[str]) -> None:
    """Print the rows, what LLVM printed, and what differs from fresh processes."""
    if arguments.sort:
        rows = sorted_rows(rows, arguments.sort)
    if rows:
        _print(arguments, rows)
    complain_printed(printed)
    for row in rows:
        if row.difference:
            settings = " ".join(f"{name}={value}" for name, value in row.options.items())
            file = f"{row.file}: " if len(arguments.files) > 1 else ""
            complain(f"{file}{settings or 'no options'}: {row.difference}")


def _print(arguments: argparse.Namespace, rows: Sequence[Row]) -> None:
    own = [row for row in rows if not row.baseline]
    match cast(Format, arguments.format):
        case "json":
            put(as_json(own))
        case "csv":
            put(as_csv(own), end="")
        case "table":
            by = arguments.by if len(own) > len(arguments.files) else None
            show(as_table(rows, by))
            say(*summary(rows, by))
