"""`optctx list`: lists the options that LLVM has registered."""

from __future__ import annotations

import argparse
import fnmatch
import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from optctx.errors import OptctxError, shown
from optctx.lab.command.console import put, show
from optctx.lab.command.plain import option_data
from optctx.tables import Table, table
from optctx.values import registry
from optctx.wording import did_you_mean, nearest

if TYPE_CHECKING:
    from argparse import _SubParsersAction

    from optctx.lab.command.parser import Parser
    from optctx.values import Option

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


def add(commands: _SubParsersAction[Parser]) -> None:
    """Enter the command among `commands`."""
    parser = commands.add_parser(
        "list",
        help="list LLVM's options",
        description="List the options of the LLVM that llvmlite loads, with type, process-wide value, scope "
        "and help. The scope is 'thread' where a context can set the option, 'process' where only the whole "
        "process can, and 'unread' where nothing in the library reads it.",
        example="optctx list 'unroll-*'\noptctx list inline --type int --format json",
    )
    parser.add_argument(
        "pattern",
        nargs="?",
        default="",
        help="part of a name, or a glob such as 'unroll-*' (default: every option)",
    )
    parser.add_argument(
        "--type", choices=_TYPES, metavar="TYPE", help=f"only options of one type: {', '.join(_TYPES)}"
    )
    parser.add_argument("--scope", choices=_SCOPES, help="only options of one scope")
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to print (default: table)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the matching options, in order of name. Raises OptctxError if none matches."""
    chosen = [
        option
        for option in _matching(registry().values(), arguments.pattern)
        if arguments.type in (None, option.type) and arguments.scope in (None, option.scope)
    ]
    if not chosen:
        raise _no_match(arguments)
    if arguments.format == "json":
        put(json.dumps([option_data(option) for option in chosen], indent=2))
    else:
        show(_table(chosen))
    return 0


def _no_match(arguments: argparse.Namespace) -> OptctxError:
    wanted = [f"{name} {value}" for name in ("type", "scope") if (value := getattr(arguments, name))]
    among = f" among those of {' and '.join(wanted)}" if wanted else ""
    near = did_you_mean(nearest(arguments.pattern.strip("-*"), registry()))
    hint = near or "`optctx list` shows every option"
    return OptctxError(f"no option matches {shown(arguments.pattern)}{among}; {hint}")


def _matching(options: Iterable[Option], pattern: str) -> list[Option]:
    wanted = pattern.lstrip("-")
    if any(character in wanted for character in "*?["):
        found = [option for option in options if fnmatch.fnmatchcase(option.name, wanted)]
    else:
        found = [option for option in options if wanted in option.name]
    return sorted(found, key=lambda option: option.name)


def _table(options: Sequence[Option]) -> Table:
    whole = ("name", "type", "value", "scope")
    rows = (
        (option.name, option.type, str(option.value), option.scope, " ".join(option.help.split()))
        for option in options
    )
    return table((*whole, "help"), rows, whole=whole)
