"""A registered option of an image, with its choices, which are those that LLVM's own parsers list."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from optctx._native import read_choices
from optctx.image.abi import OptionType
from optctx.image.loaded import Image
from optctx.image.memory import WORD, checking


class Choices(NamedTuple):
    """The generic_parser_base of an enum option: its address, and where its virtual functions are."""

    parser: int
    functions: tuple[int, int, int, int]  # getNumOptions, getOption, getDescription, getOptionValue

    def read(self) -> list[tuple[str, str, int]]:
        """Return (name, help text, word that it stores) of each choice, in LLVM's order.

        Raises UnsupportedImageError.
        """
        with checking(f"the choices of the option at {self.parser:#x}"):
            return read_choices(self.parser, self.functions)


def _enum_size(words: list[int]) -> int:
    """Return the bytes of an enum, by the words of all its values: {value, whether there is one}."""
    raw = [word.to_bytes(WORD, "little") for word in words]
    return 1 if raw and all(r[1] == 1 and r[4] != 1 for r in raw) else 4


class Place(NamedTuple):
    """Where a value is: an offset in bytes into a region, which is named by its address in LLVM's storage."""

    region: int
    offset: int

    @property
    def address(self) -> int:
        """The address of the value in LLVM's own storage."""
        return self.region + self.offset


class RegisteredOption:
    """One cl::Option object of LLVM's, where its value is, and what a plan has decided about it.

    Addresses are absolute; sizes are in bytes. `place` alone says whether the value is in the object itself
    or in the `variable` behind `cl::location`, whose address is 0 for none.

    A plan decides `scope` (thread, process or unread) and the `reason` why not per thread, and finds the
    `functions` that read it, by the numbers of their symbols. If contexts have storage of their own for it,
    `slot` is that of the object and `value_slot` that of the region where the value is; else both are None.
    """

    def __init__(
        self,
        image: Image,
        names: tuple[str, ...],
        address: int,
        size: int | None,  # None: on the heap
        option_type: OptionType,
        value_offset: int,  # from the object to the value, or to the pointer that cl::location is
        variable: int = 0,  # what cl::location points at, 0 without external storage
        variable_size: int | None = None,
    ) -> None:
        self.image = image
        self.names = names
        self.address = address
        self.size = size
        self.type = option_type
        self.value_offset = value_offset
        self.variable = variable
        self.variable_size = variable_size
        self.choices: Choices | None = None
        self.callback = False
        self.alias_of = 0  # address of the option an alias stands for
        self.set_default_index = self.flag_default_index = 0
        self.heap_size: int | None = None  # of one on the heap, where static storage has others of its class
        self.stored: tuple[list[str], list[int], int] | None = None  # see `stored_choices`
        self.scope = "thread"
        self.reason = ""
        self.slot: int | None = None
        self.value_slot: int | None = None
        self.functions: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def place(self) -> Place:
        """Where the value is."""
        return Place(self.variable, 0) if self.variable else Place(self.address, self.value_offset)

    def stored_choices(self) -> tuple[list[str], list[int], int]:
        """Return (names of the choices, the integer that each stores, bytes of the enum).

        Without choices the lists are empty.
        """
        if self.choices is None:
            return [], [], 4
        if self.stored is None:
            choices = self.choices.read()
            words = [word for _, _, word in choices]
            size = WORD if self.type.registry_parser else _enum_size(words)
            self.stored = [name for name, _, _ in choices], [word % (1 << 8 * size) for word in words], size
        return self.stored

    # What a plan decides

    def refuse(self, reason: str) -> None:
        """Keep contexts from setting it. The first reason counts."""
        if reason and self.scope != "process":
            self.scope, self.reason = "process", reason

    @property
    def readers(self) -> tuple[str, ...]:
        """Mangled names of the functions that read it, each once, in the order of the code."""
        return tuple(dict.fromkeys(filter(None, map(self.image.name_of, self.functions))))

    @property
    def slots(self) -> set[int]:
        """The slots of its storage: none, one, or two with a variable behind `cl::location`."""
        return {slot for slot in (self.slot, self.value_slot) if slot is not None}

    def value_in(self, address_of: Callable[[int], int]) -> int:
        """Return the address of the value in storage that has an address for each slot.

        Contexts must have storage for the option.
        """
        assert self.value_slot is not None
        return address_of(self.value_slot) + self.place.offset
