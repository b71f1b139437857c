"""The facts of an LLVM as JSON and CSV, and read back from JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import msgspec

from optctx.errors import OptctxError, clipped, shown
from optctx.facts import Facts, Plain, text

MOST_BYTES = 64 << 20  # of a file

_COLUMNS = ("name", "type", "value", "default", "scope", "alias_of", "library", "storage", "trust", "help")


def facts_as_json(facts: Facts) -> str:
    """One object with the fields of `Facts`; `load_facts` reads it back."""
    return msgspec.json.format(msgspec.json.encode(facts), indent=1).decode()


def facts_as_rows(facts: Facts) -> Iterator[Sequence[str]]:
    """Headings, and a row for each option. Several readers are separated by "; "."""
    yield *_COLUMNS, "read_by"
    for each in facts.options:
        cells = (getattr(each, name) for name in _COLUMNS)
        words = [cell if isinstance(cell, str) else text(cell) for cell in cells]
        yield *words, "; ".join(each.read_by)


def load_facts(data: bytes, where: str) -> Facts:
    """Read what `facts_as_json` made. `where`: names the source in errors.

    Raises OptctxError if it is something else.
    """
    try:
        facts = msgspec.json.decode(data, type=Facts)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        words = clipped(str(error)) if isinstance(error, msgspec.DecodeError) else "it nests too deeply"
        if not words.startswith("JSON"):
            words = words[:1].lower() + words[1:]
        raise _unusable(where, words) from None
    for option in facts.options:
        if any(map(_is_too_large, (option.default, option.value))):
            raise _unusable(where, f"expected values of {shown(option.name)} of at most 64 bits")
    names = Counter(each.name for each in facts.options)
    if len(names) < len(facts.options):
        [(twice, _)] = names.most_common(1)
        raise _unusable(where, f"expected each option once, found {shown(twice)} twice")
    return facts


def _is_too_large(value: Plain) -> bool:
    items = value if isinstance(value, list) else [value]
    return any(isinstance(item, int) and not -(1 << 63) <= item < 1 << 64 for item in items)


def _unusable(where: str, words: str) -> OptctxError:
    return OptctxError(
        f"cannot use {where} as LLVM's options: {words}; `optctx options --format json` writes such a file"
    )
