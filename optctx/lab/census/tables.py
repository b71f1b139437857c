"""A census and its reads as text for people."""

from __future__ import annotations

from collections.abc import Mapping

from optctx.lab.census.facts import Census, OptionFacts
from optctx.lab.census.reads import ReadPlace, Reads
from optctx.lab.census.signature import signature_of
from optctx.wording import columns, counted

__all__ = ["option_cells", "place_cells", "reads_summary", "totals_lines"]

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
PLACE_HEADINGS = ("option", "context", "frames", "by", "read by", "library")
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
    flags = facts.flags()
    notes = [flag for flag in _NOTED if flag in flags]
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


def place_cells(place: ReadPlace) -> tuple[str, ...]:
    """The cells of the row of an option that a function reads."""
    frames = "" if place.frames < 0 else str(place.frames)
    by = place.via or (f"while a {place.making} is made" if place.making else "")
    signature = signature_of(place.function)
    function = f"{signature.scope}::{signature.name}" if signature.scope else signature.name
    return place.option, place.nearest, frames, by, function, place.library


def reads_summary(reads: Reads) -> str:
    """One line: how many places, and how many without a context."""
    places = reads.places
    without = [place for place in places if place.without]
    options = {place.option for place in places}
    alone = {place.option for place in without}
    return (
        f"{counted(reads.compilations, 'compilation')}: {counted(len(options), 'option')} read in "
        f"{counted(len(places), 'place')}; no context reachable in {counted(len(without), 'place')} of "
        f"{counted(len(alone), 'option')}"
    )


def census_title(census: Census) -> str:
    """One line that names the library."""
    release = f" of llvmlite {census.llvmlite}, LLVM {census.llvm}" if census.llvm else ""
    return f"{census.library}{release}, build id {census.build_id or 'unknown'}"
