"""Compare the options of two LLVMs: names that came and went, types, defaults, choices, which can be set per
thread, and which functions read them. `optctx options --format json` writes the files.

    optctx options --format json -o old.json
    optctx diff old.json
    optctx diff old.json new.json
"""

from __future__ import annotations

from dataclasses import dataclass

from optctx.facts import Facts, facts
from optctx.lab.command.console import encodable, printed, say, show
from optctx.lab.command.files import read_file
from optctx.lab.command.groups import Out, out
from optctx.lab.lookup import MOST_BYTES, Difference, compare, load_facts
from optctx.lab.settings import argument
from optctx.tables import Table


@dataclass(frozen=True)
class Arguments:
    """What `optctx diff` takes."""

    old: str = argument("the options of the older LLVM", metavar="OLD.json")
    new: str | None = argument("of the newer one (the one in use here)", None, metavar="NEW.json", nargs="?")
    out: Out = out("table", "json")


def run(given: Arguments) -> None:
    """Compare, and print. Raises OptctxError."""
    old = _loaded(given.old)
    found = compare(old, facts() if given.new is None else _loaded(given.new))
    if not printed(given.out.format, lambda: _plain(found)):
        _print(found)


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
    show(Table(("change", "options"), [(what, f"{n:,}") for what, n in found.totals.items()]))
    for what, names in (("added", found.added), ("removed", found.removed)):
        say("", f"{what}: {', '.join(names) or 'none'}")
    rows = [(each.name, each.what, each.old, each.new) for each in found.changes if each.what != "readers"]
    if rows:
        say("")
        show(Table(("option", "change", "old", "new"), rows, whole=("option",)))
