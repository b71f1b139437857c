"""The names of the enumerators that a std::set holds, from the table that LLVM's own parser uses."""

from __future__ import annotations

from typing import NamedTuple

from optctx._native import Image
from optctx.image.facts.fact import find_object
from optctx.image.facts.names import ENUM_TABLES
from optctx.image.memory import WORD, MisfitError, load_text, load_words, walk_tree

__all__ = ["ElementNames", "find_element_names"]

_MAP = 48  # bytes of a std::map
_STRING_HEAD = 3 * WORD  # bytes before the characters of a copy-on-write string: {length, capacity, owners}
_SIZE = 4  # of the enum, in bytes


class ElementNames(NamedTuple):
    """What a set of enumerators can hold, in place of the choices of an enum."""

    by_value: dict[int, str]

    def names(self) -> list[str]:
        """In the order in which a set has them."""
        return list(self.by_value.values())

    def helps(self) -> list[str]:
        """LLVM says nothing of them."""
        return [""] * len(self.by_value)

    def stored(self, size: int = 0) -> tuple[int, list[int]]:
        """(bytes of the enum, the integer that each name stands for)."""
        return size or _SIZE, list(self.by_value)

    def text(self, items: list[str]) -> str:
        """The command-line text for these items: names of elements, or text that LLVM takes."""
        known = set(self.by_value.values())
        return ",".join(f"+{item}" if item in known else item for item in items)


def find_element_names(image: Image, enum: str) -> ElementNames | None:
    """None for an enum whose table is not known here, not in this library, or laid out otherwise."""
    fact = ENUM_TABLES.get(enum)
    symbol = find_object(image, fact) if fact is not None else None
    if symbol is None or symbol.size != _MAP:
        return None
    for read in (_references, _strings):
        try:
            return ElementNames(_by_value(symbol.address, read(symbol.address)))
        except MisfitError:
            continue
    return None


def _references(address: int) -> list[tuple[str, int]]:
    """(name, value) of each node of a table whose keys are of llvm::StringRef. Raises MisfitError."""
    nodes = walk_tree(address, 3, "a table of names")
    return [(load_text(at, size, "the name of an enumerator"), value) for at, size, value in nodes]


def _strings(address: int) -> list[tuple[str, int]]:
    """The same where the keys are copy-on-write strings, as up to LLVM 20."""
    found = []
    for characters, value in walk_tree(address, 2, "a table of names"):
        if characters < _STRING_HEAD:
            raise MisfitError(f"expected a string in the table at {address:#x}, found {characters:#x}")
        length, capacity, _ = load_words(characters - _STRING_HEAD, 3, "the head of a string")
        if length > capacity:
            raise MisfitError(
                f"expected a string at {characters:#x}, found {length} of {capacity} characters"
            )
        found.append((load_text(characters, length, "the name of an enumerator"), value))
    return found


def _by_value(address: int, entries: list[tuple[str, int]]) -> dict[int, str]:
    """By value, ascending. Raises MisfitError."""
    found: dict[int, str] = {}
    last = ""
    for name, value in entries:
        # Two names for one value could not be told apart.
        if name <= last or found.setdefault(value & 0xFFFFFFFF, name) != name:
            raise MisfitError(f"expected ascending names at {address:#x}, found {name!r} after {last!r}")
        last = name
    return dict(sorted(found.items()))
