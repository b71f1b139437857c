"""The names of the enumerators that a std::set holds, from the table that LLVM's own parser uses."""

from __future__ import annotations

from dataclasses import dataclass

from optctx._native import Image, read_bytes, read_words

__all__ = ["ElementNames", "find_element_names"]

# Mangled name of the enum, as in the type of an option -> its table, a std::map<StringRef, enum>.
_TABLES = {"NS_5SPIRV9Extension9ExtensionE": "_ZL17SPIRVExtensionMap"}

# In words. std::map: {comparison, {colour, root, smallest, largest}, count}. A node of it: {colour, parent,
# left, right, {characters, length}, value}.
_MAP, _NODE = 6, 7
_ROOT, _COUNT = 2, 5
_LEFT, _RIGHT, _CHARACTERS, _LENGTH, _VALUE = 2, 3, 4, 5, 6
_WORD = 8  # bytes
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
    """None for an enum whose names are not known here, or whose table is not in this library."""
    address = image.symbol(_TABLES.get(enum, ""))
    symbol = image.object_at(address) if address is not None else None
    if symbol is None or symbol.address != address or symbol.size != _MAP * _WORD:
        return None
    table = read_words(symbol.address, _MAP)
    found: dict[int, str] = {}
    nodes = [table[_ROOT]]
    while nodes:
        address = nodes.pop()
        if not address:
            continue
        node = read_words(address, _NODE)
        name = read_bytes(node[_CHARACTERS], node[_LENGTH]).decode()
        found.setdefault(node[_VALUE] & 0xFFFFFFFF, name)
        nodes += [node[_LEFT], node[_RIGHT]]
    if len(found) != table[_COUNT]:  # two names for one value could not be told apart
        return None
    return ElementNames(dict(sorted(found.items())))
