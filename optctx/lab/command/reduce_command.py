"""`optctx reduce`: the fewest options under which a compilation still fails, or keeps a property."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING

from optctx.errors import Interrupted, OptctxError
from optctx.lab.command.console import printed, say, status
from optctx.lab.command.files import naming_module
from optctx.lab.command.groups import Base, Input, add_file, add_out
from optctx.lab.settings import add_flags, taken
from optctx.lab.sweep.plan import Limits

if TYPE_CHECKING:
    from optctx.lab.reducing import Reduced
    from optctx.lab.report.commands import Source

__all__ = ["add", "run"]


DESCRIPTION = (
    "Leave out options of the base, and move their values towards the defaults, for as long "
    "as the compilation fails in the same way: it crashes with the same last words, hangs, or is "
    "refused. Each try is in a fresh process. Exit status 2 if there is nothing to reduce and for bad "
    "input, 130 after Ctrl-C."
)
EXAMPLE = (
    "optctx reduce kernel.ll --set force-vector-width=999999 --set enable-gvn-hoist\n"
    "optctx reduce kernel.ll --load best.toml --command './still-wrong.sh {object}'"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    add_file(parser)
    parser.add_argument(
        "--command",
        metavar="'PROGRAM {object}'",
        help="keep what this program exits with status 0 for, instead of a failure; '{object}' stands for "
        "the path of the object",
    )
    add_flags(parser, Input, Base, Limits)
    add_out(parser, "text", "json")
    parser.set_defaults(format="text")


def run(arguments: argparse.Namespace) -> int:
    """Reduce, and print the options; after Ctrl-C those found so far. Raises OptctxError and OSError."""
    from dataclasses import replace

    from optctx.lab.reducing import reduce_options
    from optctx.lab.report.commands import Source

    base, limits = taken(arguments, Base), taken(arguments, Limits)
    options = tuple(base.context().args())
    if not options:
        raise OptctxError("nothing to reduce: give the options with --set or --load")
    given = taken(arguments, Input).under(base)
    job = replace(given.job(arguments.file), options=options)
    source = Source.of(arguments.file, job, clang=given.clang, clang_options=given.clang_options)
    try:
        with naming_module(arguments.file), status() as tell:
            found = reduce_options(
                job,
                arguments.command,
                limits=limits,
                progress=tell,
            )
    except Interrupted as interrupt:
        _print(interrupt.partial, source, arguments.format)
        raise KeyboardInterrupt("interrupted; these are the fewest options so far") from None
    _print(found, source, arguments.format)
    return 0


def _print(found: Reduced, source: Source, form: str) -> None:
    from optctx.lab.report.commands import shell_lines, shown_lines

    options, failure = found.job.options, found.failure
    front, opt, llc, clang = shell_lines(options, found.job.passes, source)
    data = {
        "options": options,
        "given": found.given,
        "compilations": found.compilations,
        "failure": failure,
        "commands": {"front": front, "opt": opt, "llc": llc, "clang": clang},
    }
    if printed(form, lambda: data):
        return
    if failure is not None:
        say(str(failure))
    say(
        f"{len(options)} of {found.given} options, after {found.compilations} compilations",
        shlex.join(options) or "without any option",
        *shown_lines(front, opt, llc, clang),
    )
