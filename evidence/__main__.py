"""The command line of the evidence: python -m evidence."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from evidence.census import command as census_command
from evidence.strategies import command as compare_command
from optctx.lab.command.main import guarded
from optctx.lab.command.parser import Parser

_COMMANDS = (compare_command, census_command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command, with the exit statuses of `optctx`. Raises SystemExit for --help."""
    return guarded(lambda: _run(argv))


def _run(argv: Sequence[str] | None) -> int:
    try:
        arguments = make_parser().parse_args(argv)
        status: int = arguments.run(arguments)
    finally:
        sys.stdout.flush()
    return status


def make_parser() -> Parser:
    """Make the parser of all commands."""
    parser = Parser(
        prog="python -m evidence",
        description="Show what the answers to LLVM's developers rest on (design/upstream).",
        example="python -m evidence compare --strategies thread exclusive",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in _COMMANDS:
        command.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
