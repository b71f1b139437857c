"""`optctx show`: prints everything that is known about one option."""

from __future__ import annotations

import argparse
from typing import Any

from optctx import registry
from optctx.facts import OptionFacts, facts, text
from optctx.lab.command.console import printed, say
from optctx.lab.command.groups import add_out
from optctx.lab.settings import completing

__all__ = ["add", "run"]


DESCRIPTION = (
    "Show everything that is known about one of LLVM's options: type, default, process-wide "
    "value, choices, aliases, the functions that read it, and whether a context or a module may set it."
)
EXAMPLE = "optctx show unroll-count\noptctx show pre-RA-sched --format json"


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    named = parser.add_argument("name", help="name of an LLVM option, such as unroll-count")
    completing(named, "option")
    add_out(parser, "table", "json")


def run(arguments: argparse.Namespace) -> int:
    """Print one option. Raises UnknownOptionError, with the nearest names, if it does not exist."""
    name = registry()[arguments.name.lstrip("-") or arguments.name].name
    [option] = facts().only(lambda each: each.name == name).options
    if printed(arguments.format, lambda: option):
        return 0
    shown = _texts(option)
    width = max(map(len, shown))
    for label, lines in shown.items():
        for number, line in enumerate(lines or ["-"]):
            say(f"{'' if number else label:{width}}  {line}".rstrip())
    return 0


def _texts(option: OptionFacts) -> dict[str, list[str]]:
    """Field -> its lines: one for each choice and each function that refers to the option."""
    fields: dict[str, Any] = {name: getattr(option, name) for name in option.__struct_fields__}
    return {name.replace("_", " "): _lines(name, value) for name, value in fields.items()}


def _lines(name: str, value: Any) -> list[str]:
    match name:
        case "choices":
            return [f"{choice}: {each.help}" if each.help else choice for choice, each in value.items()]
        case "readers":
            return list(dict.fromkeys(reader.function for reader in value or ()))
        case "aliases" | "categories":
            return [", ".join(value)] if value else []
        case _:
            return [text(value)] if value != "" or name in ("default", "value") else []
