"""`optctx export`: LLVM's options as declared data, for editors and for other languages."""

from __future__ import annotations

import argparse
import fnmatch
from typing import TYPE_CHECKING

from optctx.errors import OptctxError, shown
from optctx.lab.command.console import put
from optctx.lab.declared import DeclaredOption, as_json, as_python, declared_options
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
        "json: a list.",
        example="optctx export --format python --output llvm_options.py\n"
        "optctx export --format json --library ScalarOpts",
    )
    parser.add_argument("--format", choices=("python", "json"), required=True, help="what to write")
    parser.add_argument("--library", metavar="NAME", help="only options of this library of LLVM")
    parser.add_argument("--options", metavar="GLOB", default="*", help="only options with such names")
    parser.add_argument("--output", metavar="FILE", help="write there (default: print)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the options. Raises OptctxError and OSError."""
    options = _chosen(arguments)
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
        near = (
            did_you_mean(nearest(arguments.library, libraries)) or f"there are {', '.join(sorted(libraries))}"
        )
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
    return as_python(options, f"LLVM's options, {_version()}.")


def _version() -> str:
    from llvmlite import __version__, binding

    return f"LLVM {'.'.join(map(str, binding.llvm_version_info))} of llvmlite {__version__}"
