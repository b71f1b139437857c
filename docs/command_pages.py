"""The reference of the command line, a page for each command, made from the parsers."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Iterator

from optctx.lab.command.main import COMMANDS, make_parser
from optctx.lab.command.parser import Parser

__all__ = ["pages"]

STATUS = """
| exit status | what it says |
| --- | --- |
| 0 | done |
| 1 | a check failed: `sweep --verify` found a difference, `time` no gain |
| 2 | bad arguments or input, and nothing was done; or it ended early: a full disk, a helper that was killed |
| 130, 143 | Ctrl-C, SIGTERM; what was found until then is printed |

What is printed goes to standard output. Notes and errors go to standard error,
each on a line that begins with `optctx:`. A terminal shows how far long work is.
"""


def pages() -> dict[str, str]:
    """Name of a page -> its text in Markdown. "index" leads to the others."""
    _, commands = make_parser()
    made = {name: "\n".join(_page(name, parser)) for name, parser in commands.choices.items()}
    rows = "\n".join(f"| [{name}]({name}.md) | {COMMANDS[name]} |" for name in made)
    names = "\n".join(made)
    table = f"| command | what it does |\n| --- | --- |\n{rows}\n"
    toctree = f"```{{toctree}}\n:hidden:\n\n{names}\n```\n"
    return {**made, "index": f"# Command line\n\n{table}{STATUS}\n{toctree}"}


def _page(name: str, parser: Parser) -> Iterator[str]:
    yield f"# optctx {name}\n"
    yield f"{' '.join((parser.description or '').split())}\n"
    yield f"```text\n{parser.format_usage().removeprefix('usage: ').strip()}\n```\n"
    for group in parser._action_groups:
        actions = [each for each in group._group_actions if each.help is not argparse.SUPPRESS]
        if actions:
            title = {"positional arguments": "arguments", "options": "other flags"}.get(group.title or "")
            title = title or group.title or "other flags"
            yield f"## {title[:1].upper()}{title[1:]}\n"
            yield "| argument | meaning |\n| --- | --- |"
            yield from (f"| {_form(each)} | {_cell(_help(parser, each))} |" for each in actions)
            yield ""
    if parser.epilog:
        yield "## Examples\n"
        lines = parser.epilog.split("\n", 1)[1]
        prompted = textwrap.indent(textwrap.dedent(lines), "$ ")
        yield f"```console\n{prompted}\n```\n"


def _form(action: argparse.Action) -> str:
    choices = "|".join(map(str, action.choices or ()))
    value = str(action.metavar or choices or action.dest.upper()).replace("|", "\\|")
    if not action.option_strings:
        return f"`{value}`"
    shown = "" if action.nargs == 0 else f" {value}"
    return ", ".join(f"`{flag}{shown}`" for flag in action.option_strings)


def _help(parser: Parser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")
