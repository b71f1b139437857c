"""The names of the enumerators that a std::set holds, from the table that LLVM's own parser uses."""

from __future__ import annotations

from dataclasses import dataclass

from optctx._native import Image
from optctx.image.memory import MisfitError, load_text
from optctx.image.trees import walk_tree

__all__ = ["ElementNames", "find_element_names"]

# Mangled name of the enum, as in the type of an option -> its table, a std::map<StringRef, enum>.
_TABLES = {"NS_5SPIRV9Extension9ExtensionE": "_ZL17SPIRVExtensionMap"}

_MAP = 48  # bytes of a std::map
_NODE = 3  # words that a node holds: {characters, length, value}
_SIZE = 4  # of the enum, in bytes


@dataclass(frozen=True)
class ElementNames:
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
    """None for an enum whose names are not known here, or whose table is not in this library.

    None as well for a table that is laid out otherwise: in LLVM 20 its keys are strings of another class.
    """
    address = image.symbol(_TABLES.get(enum, ""))
    symbol = image.object_at(address) if address is not None else None
    if symbol is None or symbol.address != address or symbol.size != _MAP:
        return None
    try:
        names = _names(symbol.address)
    except MisfitError:
        return None
    return ElementNames(names)


def _names(address: int) -> dict[int, str]:
    """By value, ascending. Raises MisfitError."""
    found: dict[int, str] = {}
    last = ""
    for characters, length, value in walk_tree(address, _NODE, "a table of names"):
        name = load_text(characters, length, "the name of an enumerator")
        # Two names for one value could not be told apart.
        if name <= last or found.setdefault(value & 0xFFFFFFFF, name) != name:
            raise MisfitError(f"expected ascending names at {address:#x}, found {name!r} after {last!r}")
        last = name
    return dict(sorted(found.items()))
