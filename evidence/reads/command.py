"""`python -m evidence reads`: from where LLVM reads its options when it compiles files."""

from __future__ import annotations

import argparse
import fnmatch
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evidence.census.tables import totals_lines
from evidence.reads.children import recorded, run_in_children
from evidence.reads.places import ReadPlace, Reads, reads_as_json
from evidence.reads.signature import signature_of
from evidence.reads.stacks import FirstRead
from optctx.compiling import Job, compile_job
from optctx.errors import OptctxError
from optctx.lab.command.console import encodable, progress_bar, put, say, show
from optctx.lab.command.files import read_file
from optctx.lab.command.groups import Files, Input
from optctx.lab.command.inputs import read_input
from optctx.lab.settings import add_flags, taken
from optctx.tables import Table
from optctx.wording import counted

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

_SUFFIXES = (".ll", ".bc")
_SECONDS = 60.0  # for a compilation
_HEADINGS = ("option", "context", "frames", "by", "read by", "library")


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "reads",
        help="show from where LLVM reads each option",
        description="Compile files, and all .ll and .bc files in folders, each in a process of its own. Show "
        "from where each option is read, and which context is reachable there: Function, Module, "
        "MachineFunction, LLVMContext, MCContext or TargetMachine. Exit status 2 for bad input.",
        example="python -m evidence reads examples/ --format json > reads.json\n"
        "python -m evidence reads examples/kernel.ll --without",
    )
    add_flags(parser, Files, Input)
    parser.add_argument("--options", metavar="GLOB", default="*", help="only options with such names")
    parser.add_argument("--without", action="store_true", help="only reads without a context")
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to print (default: table)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile, and print where LLVM read. Raises OptctxError and OSError."""
    paths = list(_files(arguments.files))
    reads = Reads()
    with progress_bar() as step:
        given = _given(paths, arguments, reads)
        for ended in run_in_children(reads_of, given, jobs=os.cpu_count() or 1, seconds=_SECONDS):
            if ended.problem:
                reads.failed[ended.name] = ended.problem
            else:
                reads.add(ended.reads)
            step(len(paths))
    if not reads.compilations:
        name, problem = next(iter(reads.failed.items()))
        more = f"; none of the other {len(paths) - 1} files could be compiled either" * (len(paths) > 1)
        raise OptctxError(f"cannot compile {name}: {problem}{more}")
    _print(reads, arguments)
    return 0


def _given(paths: Sequence[str], arguments: argparse.Namespace, reads: Reads) -> Iterator[tuple[str, Job]]:
    """The job of each file that can be read."""
    given = taken(arguments, Input)
    target = given.target()
    for path in paths:
        try:
            ir = read_input(path, target, given.clang, given.clang_options)
            yield encodable(path), replace(target, ir=ir, emit="object")
        except OptctxError as error:
            reads.failed[encodable(path)] = str(error)


def reads_of(_: None, job: Job) -> list[FirstRead]:
    """In a child: what a job reads first. Raises OptctxError if it does not compile."""
    return recorded(lambda: compile_job(job).error)


def _files(paths: Sequence[str]) -> Iterator[str]:
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


def _print(reads: Reads, arguments: argparse.Namespace) -> None:
    places = [
        place
        for place in reads.places
        if fnmatch.fnmatchcase(place.option, arguments.options) and (place.without or not arguments.without)
    ]
    if arguments.format == "json":
        put(reads_as_json(reads, places))
        return
    if places:
        show(Table(_HEADINGS, [_cells(place) for place in places], whole=("option",)))
        say("")
    failed = [f"not compiled: {name}: {problem}" for name, problem in reads.failed.items()]
    say(*totals_lines(reads.totals), "", *failed, reads_summary(reads))


def _cells(place: ReadPlace) -> tuple[str, ...]:
    frames = "" if place.frames < 0 else str(place.frames)
    by = place.via or (f"while a {place.making} is made" if place.making else "")
    function = signature_of(place.function).qualified
    return place.option, place.nearest, frames, by, function, place.library


def reads_summary(reads: Reads) -> str:
    """One line: how many places, and how many without a context."""
    places = reads.places
    without = [place for place in places if place.without]
    options = {place.option for place in places}
    alone = {place.option for place in without}
    return (
        f"{counted(reads.compilations, 'compilation')}: {counted(len(options), 'option')} read in "
        f"{counted(len(places), 'place')}; no context reachable in {counted(len(without), 'place')} of "
        f"{counted(len(alone), 'option')}"
    )
