"""`python -m evidence compare`: every way of giving options to LLVM, side by side."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evidence.strategies import STRATEGIES
from evidence.strategies.judging import Judge
from evidence.strategies.kernel import KERNEL, OPTIONS
from evidence.strategies.properties import PROPERTIES
from optctx.compiling import Job
from optctx.lab.command.console import say, status
from optctx.lab.settings import positive, seconds
from optctx.wording import counted

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "compare",
        help="compare the ways of giving options to LLVM by what holds for each",
        description="Run small concurrent programs over each way of giving options to LLVM, and look for the "
        "smallest one that breaks what users may expect. Exit status 2 for bad input, 130 after Ctrl-C, 143 "
        "after SIGTERM.",
        example="python -m evidence compare --strategies thread exclusive\n"
        "python -m evidence compare --properties isolation nesting",
    )
    for flag, known in (("--strategies", STRATEGIES), ("--properties", PROPERTIES)):
        names = list(known)
        parser.add_argument(
            flag, nargs="+", default=names, choices=names, metavar="NAME", help=f"({' '.join(names)})"
        )
    parser.add_argument(
        "--programs", type=positive, default=40, metavar="N", help="for each property (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds", type=seconds, default=10.0, metavar="S", help="for each property (default: %(default)g)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print what is found of each way as it is known. Raises OptctxError and OSError."""
    for name in dict.fromkeys(arguments.strategies):
        say(*_judged(name, arguments))
        sys.stdout.flush()
    return 0


def _judged(name: str, arguments: argparse.Namespace) -> Iterator[str]:
    """Lines with the properties that hold for a strategy, and the smallest program that breaks each other."""
    properties = list(dict.fromkeys(arguments.properties))
    with Judge(name, Job(KERNEL, emit="assembly"), OPTIONS) as judge, status() as told:
        verdicts = []
        for each in properties:
            told(f"{name}: {each}")
            verdicts.append(judge.judge(each, programs=arguments.programs, seconds=arguments.seconds))
    holding = sum(verdict.holds for verdict in verdicts)
    programs = counted(sum(verdict.programs for verdict in verdicts), "program")
    yield f"{name}: {holding} of {len(verdicts)} hold ({programs})"
    for options, refused in judge.refused.items():
        yield f"  refuses {' '.join(options)}: {refused}"
    for verdict in verdicts:
        if not verdict.holds:
            yield f"  {verdict.property} does not hold ({PROPERTIES[verdict.property].says}):"
            yield from (f"    {line}" for line in verdict.counterexample)
