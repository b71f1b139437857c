"""`optctx show`: prints everything that is known about one option."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from optctx.lab.command.console import put, say
from optctx.lab.command.plain import option_data
from optctx.values import registry

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser

__all__ = ["add", "run"]


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "show",
        help="show everything about one option",
        description="Show everything that is known about one of LLVM's options: type, default, process-wide "
        "value, choices, aliases, the functions that read it, and whether a context or a module may set it.",
        example="optctx show unroll-count\noptctx show pre-RA-sched --format json",
    )
    parser.add_argument("name", help="name of an LLVM option, such as unroll-count")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to print (default: text)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print one option. Raises UnknownOptionError, with the nearest names, if it does not exist."""
    data = option_data(registry()[arguments.name.lstrip("-") or arguments.name])
    if arguments.format == "json":
        put(json.dumps(data, indent=2))
        return 0
    width = max(map(len, data))
    for name, value in data.items():
        for number, line in enumerate(_lines(value)):
            say(f"{'' if number else name:{width}}  {line}".rstrip())
    return 0


def _lines(value: object) -> list[str]:
    """The lines for a value: one for each choice or reader, and "-" for anything that is empty."""
    if isinstance(value, dict):
        return [f"{choice}: {text}" if text else str(choice) for choice, text in value.items()] or ["-"]
    if isinstance(value, list):
        return [str(item) for item in value] or ["-"]
    return ["-"] if value in (None, "") else str(value).splitlines()
