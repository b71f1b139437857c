"""A registered option of an image as a plain record, with its choices or the names of its set's elements.

Choices and names are those that LLVM's own parsers list.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import NamedTuple

from optctx._native import call_virtual_pointer, call_virtual_text, call_virtual_uint
from optctx.image.abi import OptionType
from optctx.image.facts.names import ENUM_TABLES
from optctx.image.loaded import Image
from optctx.image.memory import WORD, MisfitError, checking, load_text, load_words, walk_tree

__all__ = [
    "Choices",
    "ElementNames",
    "OptionRecord",
    "find_element_names",
]

_MOST_CHOICES = 4096


class Choices(NamedTuple):
    """The generic_parser_base of an enum option: its address, and where its virtual functions are."""

    parser: int
    count_index: int
    name_index: int
    help_index: int
    value_index: int

    def names(self) -> list[str]:
        """Choices in LLVM's order. Here and below: raises UnsupportedImageError."""
        return self._texts(self.name_index)

    def helps(self) -> list[str]:
        """What LLVM says of each choice."""
        return self._texts(self.help_index)

    def stored(self, size: int = 0) -> tuple[int, list[int]]:
        """(bytes of the enum, the integer that each choice stores)."""
        # OptionValue<T>: {vtable, T value, bool valid}
        with self._checking():
            addresses = [
                call_virtual_pointer(self.parser, self.value_index, i) + WORD for i in range(self._count())
            ]
            words = [load_words(address, 1, "the value of a choice")[0] for address in addresses]
        raw = [word.to_bytes(WORD, "little") for word in words]
        if not size:
            size = 1 if raw and all(r[1] == 1 and r[4] != 1 for r in raw) else 4
        return size, [int.from_bytes(r[:size], "little") for r in raw]

    def _texts(self, index: int) -> list[str]:
        with self._checking():
            return [call_virtual_text(self.parser, index, i) for i in range(self._count())]

    def _checking(self) -> AbstractContextManager[None]:
        return checking(f"the choices of the option at {self.parser:#x}")

    def _count(self) -> int:
        count = call_virtual_uint(self.parser, self.count_index)
        if count > _MOST_CHOICES:
            raise MisfitError(f"there are {count}")
        return count


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
    symbol = image.findings.find_object(fact) if fact is not None else None
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


class OptionRecord:
    """One cl::Option object. Addresses are absolute; sizes are in bytes."""

    __slots__ = (
        "_stored",
        "address",
        "alias_of",
        "callback",
        "choices",
        "flag_default_index",
        "has_defaults",
        "heap_size",
        "names",
        "set_default_index",
        "size",
        "type",
        "variable",
        "variable_size",
    )

    def __init__(
        self,
        names: tuple[str, ...],
        address: int,
        size: int | None,  # None: on the heap
        option_type: OptionType,
        choices: Choices | ElementNames | None = None,
        callback: bool = False,
        variable: int = 0,  # what cl::location points at, 0 without external storage
        variable_size: int | None = None,
        has_defaults: bool = True,  # of a list: it holds default elements; up to LLVM 15 none does
        alias_of: int = 0,  # address of the option an alias stands for
        set_default_index: int = 0,
        flag_default_index: int = 0,
        heap_size: int | None = None,  # of one on the heap, where static storage has others of its class
        stored: tuple[list[str], list[int], int] | None = None,
    ) -> None:
        self.names = names
        self.address = address
        self.size = size
        self.type = option_type
        self.choices = choices
        self.callback = callback
        self.variable = variable
        self.variable_size = variable_size
        self.has_defaults = has_defaults
        self.alias_of = alias_of
        self.set_default_index = set_default_index
        self.flag_default_index = flag_default_index
        self.heap_size = heap_size
        self._stored = stored

    @property
    def name(self) -> str:
        return self.names[0]

    def stored_choices(self) -> tuple[list[str], list[int], int]:
        """(names of the choices, the integer that each stores, bytes of the enum); empty without choices."""
        if self.choices is None:
            return [], [], 4
        if self._stored is None:  # asked first before anything attaches: checked reads fail during an audit
            size, stored = self.choices.stored(WORD if self.type.registry_parser else 0)
            self._stored = self.choices.names(), stored, size
        return self._stored
