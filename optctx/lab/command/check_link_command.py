"""`optctx check-link`: checks that modules were compiled with the same options."""

from __future__ import annotations

import argparse
import dataclasses
import json
from typing import TYPE_CHECKING

from optctx import OptionContext
from optctx.lab.command.console import encodable, put, say, show
from optctx.lab.command.files import read_file
from optctx.lab.command.groups import add_out
from optctx.lab.command.link_reader import Question, compare
from optctx.lab.command.parser import seconds
from optctx.lab.settings import completing
from optctx.links import LinkReport
from optctx.tables import table

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "check-link",
        description="Compare the options that optctx.stamp wrote into modules, before or after they are "
        "linked. Exit status 1 if any option differs, 2 for bad input.",
        example="optctx check-link a.bc b.bc --link-options='-unroll-count=4'",
    )
    completing(parser.add_argument("files", nargs="+", metavar="FILE", help="bitcode or LLVM IR"), "file")
    parser.add_argument(
        "--link-options",
        metavar="ARGS",
        help="options of the link step, to compare as well: --link-options='-unroll-count=4 -stats'",
    )
    parser.add_argument(
        "--require-stamps", action="store_true", help="exit status 1 also for a file without a stamp"
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="time that LLVM may take for one file (default: %(default)g)",
    )
    add_out(parser, "table", "json")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the options that differ. Returns 1 if there are any. Raises OptctxError and OSError."""
    context = None
    if arguments.link_options is not None:
        context = OptionContext.from_args(arguments.link_options, base="defaults", process_wide="exclusive")
    files = tuple((encodable(path), read_file(path, "LLVM bitcode or IR")) for path in arguments.files)
    report = compare(Question(files, context, arguments.require_stamps), arguments.timeout)
    if arguments.format == "json":
        put(json.dumps(_plain(report), indent=2))
    else:
        _print(report)
    return 1 if report else 0


def _print(report: LinkReport) -> None:
    if report.mismatches:
        show(table(("option", "value", "in"), report.rows()))
    say(*(f"{module}: no stamp" for module in report.unstamped), report.summary())


def _plain(report: LinkReport) -> dict[str, object]:
    return {"consistent": not report, **dataclasses.asdict(report)}
