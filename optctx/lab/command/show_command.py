"""Show everything that is known about one of LLVM's options: type, default, process-wide value, choices,
aliases, the functions that read it, and whether a context or a module may set it.

    optctx show unroll-count
    optctx show pre-RA-sched --format json
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optctx import registry
from optctx.facts import OptionFacts, facts, text
from optctx.lab.command.console import printed, say
from optctx.lab.command.groups import Out, out
from optctx.lab.settings import argument


@dataclass(frozen=True)
class Arguments:
    """What `optctx show` takes."""

    name: str = argument("name of an LLVM option, such as unroll-count")
    out: Out = out("table", "json")


def run(given: Arguments) -> None:
    """Print one option. Raises UnknownOptionError, with the nearest names, if it does not exist."""
    name = registry()[given.name.lstrip("-") or given.name].name
    [option] = facts().only(lambda each: each.name == name).options
    if printed(given.out.format, lambda: option):
        return
    shown = _texts(option)
    width = max(map(len, shown))
    for label, lines in shown.items():
        for number, line in enumerate(lines or ["-"]):
            say(f"{'' if number else label:{width}}  {line}".rstrip())


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
