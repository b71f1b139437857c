"""`python -m evidence tablegen`: LLVM's options as TableGen records."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from evidence.census.readers import take_census
from evidence.census.tablegen import as_tablegen, by_library
from optctx.errors import OptctxError
from optctx.outputs import write_whole

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "tablegen",
        help="write LLVM's options as TableGen records",
        description="Write the options of the LLVM that llvmlite loads as records in the form of LLVM's "
        "LibraryOptions.td, a file for each library. Exit status 2 for bad input.",
        example="python -m evidence tablegen --output .",
    )
    parser.add_argument("--output", metavar="FOLDER", required=True, help="write the files there")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the records. Raises OptctxError and OSError."""
    folder: str = arguments.output
    if not os.path.isdir(folder):
        raise OptctxError(f"cannot write to {folder}: expected a folder; make it first")
    libraries = by_library(each for each in take_census().options if not each.facts.alias_of)
    for library, options in libraries.items():
        path = os.path.join(folder, f"{library[:1].upper()}{library[1:]}Options.td")
        write_whole(path, as_tablegen(library, options, _title(library)))
    return 0


def _title(library: str) -> str:
    from llvmlite import __version__, binding

    version = ".".join(map(str, binding.llvm_version_info))
    return f"Options of {library}, LLVM {version} of llvmlite {__version__}"
