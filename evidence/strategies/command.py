"""`python -m evidence compare`: every way of giving options to LLVM, side by side."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from evidence.strategies import STRATEGIES
from evidence.strategies.comparison import Comparison, compare
from evidence.strategies.output import as_lines
from evidence.strategies.properties import PROPERTIES
from optctx.errors import Interrupted
from optctx.lab.command.console import put, say, status
from optctx.lab.command.groups import File, Input
from optctx.lab.settings import add_flags, positive, seconds, taken

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "compare",
        help="compare the ways of giving options to LLVM: what holds, and what it costs",
        description="Run small concurrent programs over each way of giving options to LLVM, look for the "
        "smallest one that breaks what users may expect, and measure throughput, latency, memory and "
        "start-up with a file of LLVM IR. Exit status 2 for bad input, 130 after Ctrl-C, 143 after SIGTERM.",
        example="python -m evidence compare kernel.ll --strategies thread exclusive process\n"
        "python -m evidence compare kernel.ll --properties isolation nesting --no-figures --format json",
    )
    add_flags(parser, File, Input)
    for flag, known in (("--strategies", STRATEGIES), ("--properties", PROPERTIES)):
        names = list(known)
        parser.add_argument(
            flag, nargs="+", default=names, choices=names, metavar="NAME", help=f"({' '.join(names)})"
        )
    parser.add_argument("--no-properties", action="store_true", help="measure only")
    parser.add_argument("--no-figures", action="store_true", help="measure nothing")
    parser.add_argument(
        "--programs", type=positive, default=40, metavar="N", help="for each property (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=10.0, metavar="S", help="for each property (default: %(default)g)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the programs (default: %(default)s)")
    parser.add_argument(
        "--threads", type=positive, default=2, metavar="N", help="throughput on 1 to N threads (default: 2)"
    )
    parser.add_argument(
        "--throughput-seconds",
        type=seconds,
        default=2.0,
        metavar="S",
        help="for each throughput (default: 2)",
    )
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to print (default: table)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print what was found, so far after Ctrl-C. Raises OptctxError and OSError."""
    job = taken(arguments, Input).job(arguments.file)
    try:
        with status() as told:
            found = compare(
                list(dict.fromkeys(arguments.strategies)),
                properties=() if arguments.no_properties else list(dict.fromkeys(arguments.properties)),
                programs=arguments.programs,
                seconds=arguments.seconds,
                seed=arguments.seed,
                job=None if arguments.no_figures else job,
                threads=arguments.threads,
                throughput_seconds=arguments.throughput_seconds,
                told=told,
            )
    except Interrupted as interrupt:
        _print(interrupt.partial, arguments.format)
        raise KeyboardInterrupt(interrupt.partial.progress) from None
    _print(found, arguments.format)
    return 0


def _print(found: Comparison, form: str) -> None:
    if form == "json":
        put(json.dumps(found.as_dict(), indent=2))
    else:
        say(*as_lines(found))
