"""`python -m evidence.census`: where LLVM's options are stored, and which code reads them how."""

from __future__ import annotations

import argparse
import fnmatch
import sys
from collections.abc import Sequence

from evidence.census.counts import flags, totals, totals_lines
from evidence.census.readers import CountedOption, take_census
from optctx.lab.command.console import say, show
from optctx.lab.tables import Table

_HEADINGS = ("option", "type", "storage", "functions", "loads", "stores", "addresses", "scope", "notes")
_NOTED = (
    "never read",
    "readers not known",
    "read only in constructors",
    "copied once",
    "written by LLVM",
    "callback",
    "occurrences queried",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Take the census, and print it. Return the exit status: 2 if no option has such a name."""
    parser = argparse.ArgumentParser(
        prog="python -m evidence.census",
        description="Count, for every option of the LLVM that llvmlite loads, the instructions that read, "
        "write or take the address of its storage, and the functions that have them.",
    )
    parser.add_argument("--options", metavar="GLOB", default="*", help="only options with such names")
    parser.add_argument("--totals", action="store_true", help="print the totals only")
    arguments = parser.parse_args(argv)
    found = take_census().only(lambda name: fnmatch.fnmatchcase(name, arguments.options))
    if not found.options:
        parser.error(f"no option matches {arguments.options!r}; `optctx options` shows every option")
    if not arguments.totals:
        rows = [_cells(option) for option in found.options if not option.facts.alias_of]
        show(Table(_HEADINGS, rows))
        say("")
    say(found.title, "", *totals_lines(totals(found)))
    return 0


def _cells(option: CountedOption) -> tuple[str, ...]:
    """The cells of an option's row."""
    readers = "?" if option.readers is None else str(len(option.functions))
    notes = [flag for flag in flags(option) if flag in _NOTED]
    numbers = [str(option.sum(what)) for what in ("loads", "stores", "addresses")]
    own = option.facts
    return (own.name, own.type, own.storage, readers, *numbers, own.scope, ", ".join(notes))


if __name__ == "__main__":
    sys.exit(main())
