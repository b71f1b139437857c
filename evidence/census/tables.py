"""A census as text for people."""

from __future__ import annotations

from collections.abc import Mapping

from evidence.census.counts import flags
from evidence.census.readers import CountedOption
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


def option_cells(option: CountedOption) -> tuple[str, ...]:
    """The cells of an option's row."""
    readers = "?" if option.readers is None else str(len(option.functions))
    notes = [flag for flag in flags(option) if flag in _NOTED]
    numbers = [str(option.sum(what)) for what in ("loads", "stores", "addresses")]
    return (
        option.facts.name,
        option.facts.type,
        option.facts.storage,
        option.library,
        readers,
        *numbers,
        option.facts.scope,
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
