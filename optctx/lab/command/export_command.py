"""`optctx export`: LLVM's options as declared data, for editors and for other languages."""

from __future__ import annotations

import argparse
import fnmatch
import os
from typing import TYPE_CHECKING

from optctx.errors import OptctxError, shown
from optctx.lab.command.console import put
from optctx.lab.declared import DeclaredOption, as_json, as_python, as_tablegen, declared_options
from optctx.lab.declared.model import by_library
from optctx.outputs import write_whole
from optctx.wording import did_you_mean, nearest

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "export",
        help="write LLVM's options as declared data",
        description="Write the options of the LLVM that llvmlite loads as declared data. python: a dataclass "
        "for each of LLVM's libraries, with types, help and defaults, for `OptionContext.from_options`. "
        "json: a list. td: TableGen records for a library, in the form of LLVM's LibraryOptions.td.",
        example="optctx export --format python --output llvm_options.py\n"
        "optctx export --format td --library ScalarOpts\noptctx export --format td --output options/",
    )
    parser.add_argument("--format", choices=("python", "json", "td"), required=True, help="what to write")
    parser.add_argument("--library", metavar="NAME", help="only options of this library of LLVM")
    parser.add_argument("--options", metavar="GLOB", default="*", help="only options with such names")
    parser.add_argument(
        "--output",
        metavar="FILE",
        help="write there; for td without --library a folder, with a file for each library (default: print)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the options. Raises OptctxError and OSError."""
    options = _chosen(arguments)
    if arguments.format == "td" and arguments.library is None:
        _write_folder(arguments.output, options)
        return 0
    text = _text(arguments, options)
    if arguments.output is None:
        put(text, end="")
        return 0
    write_whole(arguments.output, text)
    return 0


def _chosen(arguments: argparse.Namespace) -> list[DeclaredOption]:
    options = declared_options()
    libraries = {option.library for option in options}
    if arguments.library is not None and arguments.library not in libraries:
        near = did_you_mean(nearest(arguments.library, libraries)) or "`optctx census --totals` lists them"
        raise OptctxError(f"no library of LLVM with options is called {shown(arguments.library)}; {near}")
    chosen = [
        option
        for option in options
        if arguments.library in (None, option.library) and fnmatch.fnmatchcase(option.name, arguments.options)
    ]
    if not chosen:
        raise OptctxError(f"no option matches {shown(arguments.options)}; `optctx list` shows every option")
    return chosen


def _text(arguments: argparse.Namespace, options: list[DeclaredOption]) -> str:
    if arguments.format == "json":
        return as_json(options) + "\n"
    if arguments.format == "python":
        return as_python(options, f"LLVM's options, {_version()}.")
    return as_tablegen(arguments.library, options, _title(arguments.library))


def _write_folder(folder: str | None, options: list[DeclaredOption]) -> None:
    if folder is None:
        raise OptctxError(
            "a .td file declares one library's options; name one with --library, or --output a folder"
        )
    if not os.path.isdir(folder):
        raise OptctxError(f"cannot write to {folder}: expected a folder; make it first")
    for library, own in by_library(options).items():
        path = os.path.join(folder, f"{library[:1].upper()}{library[1:]}Options.td")
        write_whole(path, as_tablegen(library, own, _title(library)))


def _title(library: str) -> str:
    return f"Options of {library}, {_version()}"


def _version() -> str:
    from llvmlite import __version__, binding

    return f"LLVM {'.'.join(map(str, binding.llvm_version_info))} of llvmlite {__version__}"
