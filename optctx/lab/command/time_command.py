"""`optctx time`: the run time of a file's code under different options, side by side; or a case again."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from optctx.errors import Interrupted, OptctxError
from optctx.lab.command.console import printed, put, say, show, status
from optctx.lab.command.files import naming_module
from optctx.lab.command.groups import Base, Input, add_out
from optctx.lab.settings import add_flags, taken
from optctx.lab.sweep.plan import Limits
from optctx.lab.timing.measuring import Measuring

if TYPE_CHECKING:
    from optctx.lab.timing import Compared

__all__ = ["add", "run"]


DESCRIPTION = (
    "Compile a file under a base and under each --against, compare what the code computes, "
    "and time both in the same rounds on one processor. What was faster is measured a second time. Exit "
    "status 0 if a gain is confirmed, 1 if none is or a result is wrong, 2 for bad input, 3 if the processor "
    "stays taken by another measurement, 130 after Ctrl-C."
)
EXAMPLE = (
    "optctx time kernel.c --against='-force-vector-width=8 -unroll-count=4'\n"
    "optctx time kernel.c --entry total > kernel.toml   # the harness to fill in\n"
    "optctx time kernel.c --against=-unroll-count=4 --command './time-it.sh {object}'\n"
    "optctx time --again study.wrong/case.toml"
)


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="LLVM IR (.ll), bitcode (.bc), or C or C++ (.c, .cpp) for clang; '-' for standard input",
    )
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="'ARGS'",
        help="options on top of the base's, as opt takes them; repeat for more sets",
    )
    parser.add_argument(
        "--again", metavar="CASE.toml", help="instead of a file: run a case of a wrong result again"
    )
    add_flags(parser, Input, Base)
    add_flags(parser, Measuring)
    add_flags(parser, Limits, leave_out=("jobs",))
    add_out(parser, "table", "json")


def run(arguments: argparse.Namespace) -> int:
    """Time, and print the rows. Raises OptctxError and OSError."""
    from optctx.lab.timing import NoHarnessError, compare_settings, find_harness, read_case

    if arguments.again is not None:
        if arguments.file is not None or arguments.against:
            raise OptctxError("a case has a module and options of its own; leave out FILE and --against")
        outcome = read_case(arguments.again).run()
        say(f"{outcome.state}{': ' if outcome.error else ''}{outcome.error}")
        return 0 if outcome.state == "ok" else 1
    if arguments.file is None:
        raise OptctxError("nothing to time: name a FILE and options for --against, or a case with --again")
    base, measuring, limits = taken(arguments, Base), taken(arguments, Measuring), taken(arguments, Limits)
    job = taken(arguments, Input).under(base).job(arguments.file)
    if measuring.command and (measuring.entry or measuring.harness):
        raise OptctxError("a command runs the object itself; leave out --command, or --entry and --harness")
    with naming_module(arguments.file):
        try:
            harness = None if measuring.command else find_harness(measuring, arguments.file, job)
        except NoHarnessError as error:
            put(error.text, end="")
            raise
    if not arguments.against:
        raise OptctxError("nothing to compare: give options with --against '-unroll-count=4'")
    try:
        with naming_module(arguments.file), status() as tell:
            found = compare_settings(
                job,
                harness,
                arguments.against,
                base=base.context().args(),
                measuring=measuring,
                limits=limits,
                progress=tell,
            )
    except Interrupted as interrupt:
        _print(interrupt.partial, arguments.format)
        raise KeyboardInterrupt("interrupted; what was not measured twice is not confirmed") from None
    _print(found, arguments.format)
    return 0 if found.gains and all(row.timing.outcome.state != "wrong result" for row in found.rows) else 1


def _print(found: Compared, form: str) -> None:
    if printed(form, found.as_dict):
        return
    from optctx.tables import table

    show(table(found.headings, found.cells(), right=found.headings[1:3]))
    say("", *_summary(found))


def _summary(found: Compared) -> list[str]:
    gains = found.gains
    words = "no gain is confirmed"
    wrong = [
        f"{' '.join(row.options)}: {row.timing.outcome.state}: {row.timing.outcome.error}"
        for row in found.rows
        if row.timing.outcome.state != "ok"
    ]
    if gains and (ratio := gains[0].ratio) is not None:
        words = f"fastest: {' '.join(gains[0].options)}, {ratio.middle:.2f} times as fast as the base"
    waited = "" if found.command else f"; {found.waited:.0%} of the time for other processes"
    return [*wrong, words, f"{found.conditions}{waited}"]
