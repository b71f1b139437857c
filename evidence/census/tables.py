"""A census as text for people."""

from __future__ import annotations

from collections.abc import Mapping

from evidence.census.counts import flags
from optctx.facts import OptionFacts
from optctx.wording import columns

OPTION_HEADINGS = (
    "option",
    "type",
    "storage",
    "library",
    "functions",
    "loads",
    "stores",
    "addresses",
    "scope",
    "notes",
)
_MOST = 12  # rows of a subject in a table
_NOTED = (
    "never read",
    "readers not known",
    "read only in constructors",
    "copied once",
    "written by LLVM",
    "callback",
    "occurrences queried",
)


def option_cells(facts: OptionFacts) -> tuple[str, ...]:
    """The cells of an option's row."""
    readers = "?" if facts.readers is None else str(len({reader.function for reader in facts.readers}))
    notes = [flag for flag in flags(facts) if flag in _NOTED]
    numbers = [str(facts.sum(what)) for what in ("loads", "stores", "addresses")]
    return (
        facts.name,
        facts.type,
        facts.storage,
        facts.library,
        readers,
        *numbers,
        facts.scope,
        ", ".join(notes),
    )


def totals_lines(totals: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Lines with a table for each subject, the largest numbers of long ones."""
    lines: list[str] = []
    for subject, numbers in totals.items():
        rows = [(what, f"{number:,}") for what, number in list(numbers.items())[:_MOST]]
        if len(numbers) > _MOST:
            rest = list(numbers.values())[_MOST:]
            rows.append((f"{len(rest)} others", f"{sum(rest):,}"))
        if rows:
            lines += [*([""] if lines else []), f"{subject}:", *(f"  {line}" for line in columns(rows))]
    return lines
