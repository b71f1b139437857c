"""`optctx census`: where LLVM's options are stored, which code reads them how, and from where."""

from __future__ import annotations

import argparse
import fnmatch
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from optctx.errors import OptctxError, shown
from optctx.fresh import Job, compile_job
from optctx.fresh.job import initialise_targets
from optctx.lab.census import Census, census, census_as_json, compare, load_census
from optctx.lab.census.children import run_in_children
from optctx.lab.census.compare import difference_as_json, difference_lines
from optctx.lab.census.plot import save_census_plot
from optctx.lab.census.reads import Reads, first_reads, reads_as_csv, reads_as_json
from optctx.lab.census.saved import MOST_BYTES, census_as_csv
from optctx.lab.census.tables import (
    OPTION_HEADINGS,
    PLACE_HEADINGS,
    census_title,
    option_cells,
    place_cells,
    reads_summary,
    totals_lines,
)
from optctx.lab.command.compiling import add_job_arguments, positive, seconds, target_job
from optctx.lab.command.console import encodable, put, say, show
from optctx.lab.command.files import read_file
from optctx.lab.command.inputs import Clang, read_input
from optctx.lab.command.progress import progress_bar
from optctx.plots import check_plot
from optctx.tables import table

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.progress import progress_bar
from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]

_SUFFIXES = (".ll", ".bc")


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "census",
        help="show how LLVM stores and reads its options",
        description="Count, for every option of the LLVM that llvmlite loads, the instructions that read, "
        "write or take the address of its storage, and the functions that have them. Two files that "
        "`--format json` made are compared instead. With --reads, compile files and show from where each "
        "option is read, and which context is reachable there: Function, Module, MachineFunction, "
        "LLVMContext, MCContext or TargetMachine. Exit status 2 for bad input.",
        example="optctx census --totals\noptctx census --format json > new.json\n"
        "optctx census old.json new.json\noptctx census --reads examples/ --format json > reads.json",
    )
    add_job_arguments(parser, several=None)
    parser.add_argument("--against", metavar="OLD.json", help="compare this library with an older census")
    parser.add_argument(
        "--reads", action="store_true", help="compile FILEs, and all .ll and .bc files in folders; see above"
    )
    parser.add_argument("--options", metavar="GLOB", default="*", help="only options with such names")
    parser.add_argument("--totals", action="store_true", help="print the totals only")
    parser.add_argument("--without", action="store_true", help="with --reads: only reads without a context")
    parser.add_argument(
        "--jobs", type=positive, default=os.cpu_count() or 1, metavar="N", help="compilations at once"
    )
    parser.add_argument(
        "--timeout", type=seconds, default=60.0, metavar="S", help="seconds for a compilation (%(default)g)"
    )
    parser.add_argument(
        "--format", choices=("table", "json", "csv"), default="table", help="how to print (default: table)"
    )
    parser.add_argument(
        "--plot", metavar="FILE", help="draw options by library and type into a .png, .svg or .pdf"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Take, compare or record, and print. Raises OptctxError and OSError."""
    if arguments.reads:
        return _reads(arguments)
    if arguments.without:
        raise OptctxError("--without is for --reads, which compiles the files")
    if arguments.against is not None or arguments.files:
        return _compare(arguments)
    if arguments.plot:
        check_plot(arguments.plot)
    found = _only(census(), arguments.options)
    match arguments.format:
        case "json":
            put(census_as_json(found))
        case "csv":
            put(census_as_csv(found), end="")
        case _:
            _print_census(found, arguments.totals)
    if arguments.plot:
        save_census_plot(found, arguments.plot)
    return 0


def _only(found: Census, pattern: str) -> Census:
    kept = found.only(lambda facts: any(fnmatch.fnmatchcase(name, pattern) for name in facts.names))
    if not kept.options:
        raise OptctxError(f"no option matches {shown(pattern)}; `optctx list` shows every option")
    return kept


def _print_census(found: Census, totals: bool) -> None:
    if not totals:
        _show(OPTION_HEADINGS, [option_cells(facts) for facts in found.options])
    say(census_title(found), "", *totals_lines(found.totals))


def _compare(arguments: argparse.Namespace) -> int:
    if arguments.plot:
        raise OptctxError("cannot plot a comparison; leave out --plot")
    if arguments.format == "csv":
        raise OptctxError("cannot print a comparison as csv; use --format json")
    files = [arguments.against, *arguments.files] if arguments.against is not None else arguments.files
    expected = 1 if arguments.against is not None else 2
    if len(files) != expected:
        raise OptctxError(
            f"expected {'no file beside --against' if expected == 1 else 'two files to compare'}, found "
            f"{len(arguments.files)}; `optctx census --format json > FILE` makes one; --reads compiles files"
        )
    old, *new = (
        load_census(read_file(path, "a census as JSON", MOST_BYTES), encodable(path)) for path in files
    )
    found = compare(_some(old, arguments.options), _some(new[0] if new else census(), arguments.options))
    if arguments.format == "json":
        put(difference_as_json(found))
    else:
        say(*difference_lines(found))
    return 0


def _some(found: Census, pattern: str) -> Census:
    return found.only(lambda facts: any(fnmatch.fnmatchcase(name, pattern) for name in facts.names))


def _reads(arguments: argparse.Namespace) -> int:
    if arguments.plot or arguments.against is not None:
        raise OptctxError("--reads takes files to compile; leave out --plot and --against")
    paths = list(_files(arguments.files))
    reads = Reads()
    initialise_targets()
    target = target_job(arguments)
    clang = Clang(arguments.clang, arguments.clang_options)
    single = len(paths) == 1
    with progress_bar() as step:
        tasks = ((encodable(path), _Compiling(path, target, clang)) for path in paths)
        for ended in run_in_children(tasks, jobs=arguments.jobs, seconds=arguments.timeout):
            if ended.problem:
                reads.failed[ended.name] = ended.problem
            else:
                reads.add(ended.result)
            step(len(paths))
    if not reads.compilations:
        name, problem = next(iter(reads.failed.items()))
        more = "" if single else f"; none of the other {len(paths) - 1} files could be compiled either"
        raise OptctxError(f"cannot compile {name}: {problem}{more}")
    _print_reads(reads, arguments)
    return 0


class _Compiling:
    """Compiles a file and returns the reads."""

    def __init__(self, path: str, target: Job, clang: Clang) -> None:
        self._path, self._target, self._clang = path, target, clang

    def __call__(self) -> object:
        job = replace(self._target, ir=read_input(self._path, self._target, self._clang), emit="object")
        problems: list[str] = []

        def work() -> None:
            result = compile_job(job)
            if result.error is not None:
                problems.append(result.error)

        found = first_reads(work)
        if problems:
            raise OptctxError(problems[0])
        return found


def _files(paths: Sequence[str]) -> Iterator[str]:
    if not paths:
        raise OptctxError("--reads compiles files: name files of LLVM IR, or folders of them")
    for path in paths:
        if not os.path.isdir(path):
            if path != "-":
                read_file(path)  # raises now, with one clear error, if it cannot be read
            yield path
            continue
        found = sorted(
            os.path.join(folder, name)
            for folder, _, names in os.walk(path)
            for name in names
            if name.endswith(_SUFFIXES)
        )
        if not found:
            raise OptctxError(f"cannot use {path}: expected .ll or .bc files in it, found none")
        yield from found


def _print_reads(reads: Reads, arguments: argparse.Namespace) -> None:
    places = [
        place
        for place in reads.places
        if fnmatch.fnmatchcase(place.option, arguments.options) and (place.without or not arguments.without)
    ]
    match arguments.format:
        case "json":
            put(reads_as_json(reads, places))
        case "csv":
            put(reads_as_csv(places), end="")
        case _:
            if places and not arguments.totals:
                _show(PLACE_HEADINGS, [place_cells(place) for place in places])
            say(*totals_lines(reads.totals), "", *_failed_lines(reads), reads_summary(reads))


def _failed_lines(reads: Reads) -> list[str]:
    return [f"not compiled: {name}: {problem}" for name, problem in reads.failed.items()]


def _show(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    show(table(headings, rows, whole=("option",)))
    say("")
