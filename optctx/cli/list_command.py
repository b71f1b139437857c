"""`optctx list`: the options that LLVM has registered."""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from optctx.cli.console import output
from optctx.cli.plain import option_data
from optctx.errors import OptctxError
from optctx.registry import registry

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.registry import Option

__all__ = ["add", "run"]

# As in Option.type and Option.scope
_TYPES = (
    "bool",
    "boolOrDefault",
    "int",
    "uint",
    "int64",
    "uint64",
    "float",
    "double",
    "char",
    "string",
    "enum",
    "list",
    "bits",
    "set",
    "other",
)
_SCOPES = ("thread", "process", "unread")


def add(commands: _SubParsersAction[argparse.ArgumentParser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser("list", help="list options")
    parser.add_argument(
        "pattern", nargs="?", default="", help="part of a name, or a glob such as 'unroll-*' (every option)"
    )
    parser.add_argument("--type", choices=_TYPES)
    parser.add_argument(
        "--scope", choices=_SCOPES, help="settable per thread, only per process, or read by nothing"
    )
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the matching options, in order of name. Raises OptctxError if none matches."""
    chosen = [
        option
        for option in _matching(registry().values(), arguments.pattern)
        if arguments.type in (None, option.type) and arguments.scope in (None, option.scope)
    ]
    if not chosen:
        raise OptctxError(f"no option matches {arguments.pattern!r}; `optctx list` shows them all")
    if arguments.format == "json":
        print(json.dumps([option_data(option) for option in chosen], indent=2))
    else:
        output().print(_table(chosen))
    return 0


def _matching(options: Iterable[Option], pattern: str) -> list[Option]:
    wanted = pattern.lstrip("-")
    if any(character in wanted for character in "*?["):
        found = [option for option in options if fnmatch.fnmatchcase(option.name, wanted)]
    else:
        found = [option for option in options if wanted in option.name]
    return sorted(found, key=lambda option: option.name)


def _table(options: Sequence[Option]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in ("name", "type", "value", "scope"):
        table.add_column(heading, no_wrap=True)
    table.add_column("help")
    for option in options:
        cells = (option.name, option.type, str(option.value), option.scope, " ".join(option.help.split()))
        table.add_row(*(Text(cell) for cell in cells))
    return table
