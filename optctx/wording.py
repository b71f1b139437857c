"""Common parts of messages: counted nouns, columns and tables of text, suggestions of names, escapes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

ALL_OPTNONE = (
    "every function is optnone: passes skip them; compile with clang -O1 -Xclang -disable-llvm-passes, or "
    "remove optnone"
)
_MOST = 3  # names in a suggestion
_CUTOFF = 0.6  # of difflib's ratio; below it names have little in common
_CLOSE = 0.05  # names whose ratio is lower than the best by more than this are left out
_LONGEST = 100  # characters; difflib takes quadratic time
_ROWS = 100  # of a table in a notebook


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: "1 option", "1,000 options". `plural`: if it is not noun + "s"."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def nesting(text: str) -> int:
    """Count how deep the parentheses of a text nest."""
    steps = (1 if character == "(" else -1 for character in text if character in "()")
    return max(itertools.accumulate(steps), default=0)


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Find the known names nearest to `word`, nearest first: at most three, possibly none. Ignores case."""
    import difflib  # imported here because programs without mistakes do not need it

    if len(word) > _LONGEST:
        return []
    by_lower: dict[str, str] = {}
    for name in known:
        by_lower.setdefault(name.lower(), name)
    wanted = word.lower()
    found = difflib.get_close_matches(wanted, by_lower, n=_MOST, cutoff=_CUTOFF)
    likeness = [difflib.SequenceMatcher(None, lower, wanted).ratio() for lower in found]
    return [
        by_lower[lower] for lower, ratio in zip(found, likeness, strict=True) if ratio > likeness[0] - _CLOSE
    ]


def did_you_mean(names: Iterable[str]) -> str:
    """Suggest names: "did you mean a or b?", or an empty string for no names."""
    listed = list(names)
    return f"did you mean {' or '.join(listed)}?" if listed else ""


def first_few(words: Sequence[str], most: int = 5) -> str:
    """Join the first words with commas, and say how many more there are."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Format rows of cells as lines with aligned columns. A cell stays on its line: see `printable`."""
    shown = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in shown
    ]


def html_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], count: int) -> str:
    """Make a table for a notebook, of the first rows. `count`: of all rows. Every text is escaped."""
    from html import escape

    def line(cells: Sequence[str], kind: str) -> str:
        return f"<tr>{''.join(f'<{kind}>{escape(printable(cell))}</{kind}>' for cell in cells)}</tr>"

    shown = list(itertools.islice(rows, _ROWS))
    more = f"; the first {_ROWS} of {counted(count, 'row')}" if count > len(shown) else ""
    caption = f"<caption>{escape(printable(title))}{more}</caption>"
    body = "".join(line(cells, "td") for cells in shown)
    return f"<table>{caption}<thead>{line(headings, 'th')}</thead><tbody>{body}</tbody></table>"


def printable(text: str) -> str:
    """Put the text on one line that can be shown to a person, with escapes for what is not printable.

    That is: control characters, among them line ends and what terminals act on; marks that change the
    direction of writing, or cannot be seen; and bytes of file names that are not UTF-8.
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
