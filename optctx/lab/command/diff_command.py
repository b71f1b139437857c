"""`optctx diff`: what changed between the options of two LLVMs."""

from __future__ import annotations

import argparse

from optctx.facts import Facts, facts
from optctx.lab.command.console import encodable, printed, say, show
from optctx.lab.command.files import read_file
from optctx.lab.command.groups import add_out
from optctx.lab.lookup import MOST_BYTES, Difference, compare, load_facts
from optctx.lab.settings import completing
from optctx.tables import table

__all__ = ["add", "run"]


DESCRIPTION = (
    "Compare the options of two LLVMs: names that came and went, types, defaults, choices, "
    "which can be set per thread, and which functions read them. `optctx options --format json` writes "
    "the files."
)
EXAMPLE = "optctx options --format json -o old.json\noptctx diff old.json\noptctx diff old.json new.json"


def add(parser: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    old = parser.add_argument("old", metavar="OLD.json", help="the options of the older LLVM")
    words = "of the newer one (the one in use here)"
    new = parser.add_argument("new", metavar="NEW.json", nargs="?", help=words)
    for each in (old, new):
        completing(each, "file")
    add_out(parser, "table", "json")


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print. Raises OptctxError."""
    old = _loaded(arguments.old)
    found = compare(old, facts() if arguments.new is None else _loaded(arguments.new))
    if not printed(arguments.format, lambda: _plain(found)):
        _print(found)
    return 0


def _loaded(path: str) -> Facts:
    return load_facts(read_file(path, "LLVM's options as JSON", MOST_BYTES), encodable(path))


def _plain(found: Difference) -> dict[str, object]:
    sides = {
        side: {name: getattr(each, name) for name in ("library", "build_id", "llvm", "llvmlite")}
        for side, each in (("old", found.old), ("new", found.new))
    }
    named = {name: getattr(found, name) for name in ("totals", "added", "removed", "changes")}
    return {**sides, **named}


def _print(found: Difference) -> None:
    """The totals, the names that came and went, and a table of changes. Readers are only counted."""
    for side, each in (("old", found.old), ("new", found.new)):
        say(f"{side}: {each.title}, {len(each.options):,} names")
    say("")
    show(table(("change", "options"), [(what, f"{n:,}") for what, n in found.totals.items()]))
    for what, names in (("added", found.added), ("removed", found.removed)):
        say("", f"{what}: {', '.join(names) or 'none'}")
    rows = [(each.name, each.what, each.old, each.new) for each in found.changes if each.what != "readers"]
    if rows:
        say("")
        show(table(("option", "change", "old", "new"), rows, whole=("option",)))
