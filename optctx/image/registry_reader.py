"""Reads every registered option of an image, and proves what it is: its type follows from its class."""

from __future__ import annotations

import os
import re
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

from optctx._native import (
    Kind,
    MisfitError,
    Symbol,
    call_pointer,
    option_at,
    read_checked,
    symbol_near,
    walk_registry,
)
from optctx.arch import processor
from optctx.image.abi import OptionType, element_size, parse_vtable_name
from optctx.image.facts import mangled_names
from optctx.image.facts.mangled_names import (
    CHOOSING,
    OPT_OF_UNSIGNED,
    OPTION_VALUE_OF_UNSIGNED,
    REGISTERED_OPTIONS,
    TOP_LEVEL,
)
from optctx.image.loaded import Image
from optctx.image.memory import TABLE_HEAD, WORD, checking, load_words
from optctx.image.options import Choices, RegisteredOption
from optctx.image.stripped import option_functions, prove_symbols

_PLACES, _CLASSES, _CHOICES = "places of options", "classes of options", "choices"  # what is kept
_SMALLEST = 0xA0  # bytes of an option with a value, its default and a parser; on the heap nothing says more
_LIST = 0x50  # bytes of a list before its parser
_HEAD = 0x50  # bytes of an Option before its value can come
_ENTRANCE = 8  # bytes of a function
_EARLIEST, _SAMPLE = 0x60 // WORD, 24  # words: where a value's default can begin; what is looked at for it
_LIBCXX_FUNCTION, _CALL = 6, 6  # words of a std::function of libc++'s; index of its operator()


class ImageRegistry(NamedTuple):
    """The registry of one image as it was when it was read."""

    layout: str
    map: int  # its address
    value_offset: int
    options: list[RegisteredOption]

    @property
    def is_libcxx(self) -> bool:
        """Whether the library uses libc++."""
        return any(option.type.kind == Kind.libcxx_string for option in self.options)


class _OptionClass(NamedTuple):
    """What the options with the same virtual functions have in common.

    `members`: what such an option consists of: its class, or its parser if it leads to any object. `parser`:
    one that lists choices: bytes to it, bytes from the image's base to its virtual functions, and which of
    them `Choices` calls.
    """

    type: OptionType
    members: str
    set_default_index: int
    flag_default_index: int
    parser: tuple[int, int, tuple[int, int, int, int]] | None


class _Classes:
    """The classes of the options of an image. What its file decides of them is kept for the next process."""

    def __init__(self, image: Image, value_offset: int) -> None:
        self._image, self._offset = image, value_offset
        self._kept: dict[tuple[int, int], Any] = image.findings.recall(_CLASSES, value_offset) or {}
        self._known: dict[tuple[int, int], _OptionClass] = {}

    def of(self, name: str, address: int, words: Sequence[int], size: int | None) -> _OptionClass:
        """Return the class of an option that has these words there. Raises MisfitError."""
        key = words[0], size or 0
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._make(name, address, words, size or 0)
        return known

    def sizes(self) -> dict[str, int]:
        """Return the bytes of an option in static storage, by what it consists of."""
        return {known.members: size for (_, size), known in self._known.items() if size}

    def _make(self, name: str, address: int, words: Sequence[int], size: int) -> _OptionClass:
        image, vtable = self._image, words[0]
        symbol = _vtable_at(image, vtable)
        if symbol is None or vtable != symbol.address + TABLE_HEAD:
            raise MisfitError(f"the virtual functions of the option {name} are not a table of the library")
        place = vtable - image.base, size
        if place not in self._kept:
            slots = _slots(image, symbol, vtable)
            if "setDefault" not in slots:
                raise MisfitError(
                    f"the virtual functions of the option {name} are in an order that is not known"
                )
            own = slots["setDefault"], slots.get("getValueExpectedFlagDefault", 0)
            found = _find_parser(image, words, self._offset // WORD)
            of_type = parse_vtable_name(symbol.name, found is not None)
            self._kept[place] = (*own, found, of_type.kind == Kind.list and self._is_list(address))
            image.findings.keep(_CLASSES, self._offset, self._kept)
        set_default, flag_default, found, is_list = self._kept[place]
        of_type = parse_vtable_name(symbol.name, found is not None)
        if of_type.kind == Kind.list and not is_list:
            of_type = of_type._replace(supported=False)
        members = symbol.name
        if of_type == OptionType(Kind.other, external=True):
            match = re.fullmatch(mangled_names.OPT, symbol.name)
            members = match["parser"] if match is not None else members
        return _OptionClass(of_type, members, set_default, flag_default, found)

    def _is_list(self, address: int) -> bool:
        """Tell whether the parser of a list begins where it does in one whose layout is known."""
        *_, parser = load_words(address + self._offset, _LIST // WORD + 1, "a list")
        return _vtable_at(self._image, parser) is not None


def _vtable_at(image: Image, address: int) -> Symbol | None:
    """Find the table that an object with virtual functions holds the address of."""
    symbol = image.findings.object_at(address) if image.contains(address) else None
    if symbol is None or address < symbol.address + TABLE_HEAD:
        return None
    return symbol if symbol.name.startswith(mangled_names.VTABLE) else None


def _slots(image: Image, table: Symbol, address: int) -> dict[str, int]:
    """Find virtual functions: a part of the mangled name -> index."""
    slots = {}
    words = load_words(address, (table.address + table.size - address) // WORD, table.name)
    if image.is_stripped:
        return option_functions(image, words)
    for index, word in enumerate(words):
        function = image.function_at(word) if image.contains(word) else None
        if function is None:
            break  # the head of a second base's table
        for part in mangled_names.VIRTUAL_FUNCTIONS:
            if part in function.name:
                slots[part] = index
    return slots


def _find_parser(image: Image, words: Sequence[int], begin: int) -> Any:
    """Find, from that word on, a parser that lists choices. Returns `parser` of its class, or None."""
    for index in range(begin, len(words)):
        table = _vtable_at(image, words[index])
        slots = {} if table is None else _slots(image, table, words[index])
        if CHOOSING[0] in slots:
            return index * WORD, words[index] - image.base, tuple(slots[name] for name in CHOOSING)
    return None


def read_registry(image: Image) -> ImageRegistry:
    """Walk LLVM's registry and prove what every option is, with reads that cannot fault.

    Leaves out the options of other libraries, which can be unloaded.

    Raises UnsupportedImageError with what does not fit.
    """
    top_level, registered = image.findings.need(TOP_LEVEL), image.findings.need(REGISTERED_OPTIONS)
    with checking(image.path):
        return _read(image, call_pointer(registered.address, call_pointer(top_level.address)))


def _read(image: Image, registry: int) -> ImageRegistry:
    layout, entries = walk_registry(registry, image)
    names: dict[int, tuple[str, ...]] = {}
    for name, address in entries:
        if image.contains(address) or not symbol_near(address)[1]:
            names[address] = (*names.get(address, ()), name)
    addresses = list(names)
    if image.is_stripped:
        prove_symbols(image, addresses)
    offset, sizes = _places(image, addresses)
    classes = _Classes(image, offset)
    choices = image.findings.recall(_CHOICES, offset) or {}
    options = [
        _read_option(image, classes, offset, own, at, size)
        for (at, own), size in zip(names.items(), sizes, strict=True)
    ]
    for option in options:
        option.stored = choices.get(option.address - image.base) if option.choices is not None else None
    _prove_aliases(options)
    _measure_heap(image, classes, options)
    return ImageRegistry(layout, registry, offset, options)


def registered_elsewhere(image: Image, registry: ImageRegistry, name: str) -> str:
    """Name the library that has registered an option with LLVM under this name, or return nothing."""
    known = {option.address for option in registry.options}
    try:
        _, entries = walk_registry(registry.map, image)
    except MisfitError:  # another thread registers options
        return ""
    for own, address in entries:
        if own == name and address not in known:
            library = os.path.basename(symbol_near(address)[1])
            return library or "code outside LLVM"
    return ""


def keep_choices(image: Image, registry: ImageRegistry) -> None:
    """Keep what the options' parsers list: to ask LLVM reads pages of its library that nothing else needs.

    Leaves out options on the heap, and registries of passes, which other libraries may add to.
    """
    stored = {
        option.address - image.base: option.stored_choices()
        for option in registry.options
        if option.choices is not None and option.size is not None and not option.type.registry_parser
    }
    image.findings.keep(_CHOICES, registry.value_offset, stored)


def _prove_aliases(options: list[RegisteredOption]) -> None:
    """Check that every alias leads to an option that is none. Raises MisfitError."""
    leads_to = {each.address: each.alias_of for each in options}
    for option in filter(lambda each: each.alias_of, options):
        at, steps = option.alias_of, 0
        while leads_to.get(at) and steps < len(options):
            at, steps = leads_to[at], steps + 1
        if leads_to.get(at) != 0:
            raise MisfitError(f"the alias {option.name} leads to no option")


def _measure_heap(image: Image, classes: _Classes, options: list[RegisteredOption]) -> None:
    """Find the sizes of options on the heap from those in static storage whose members are the same."""
    sizes = classes.sizes()
    for option in options:
        if option.size is None:
            words = load_words(option.address, _SMALLEST // WORD, "an option")
            option.heap_size = sizes.get(classes.of(option.name, option.address, words, None).members)
            if option.heap_size is not None:
                words = load_words(option.address, option.heap_size // WORD, "an option")
                option.callback = has_callback(image, option.address, words)


def _places(image: Image, addresses: list[int]) -> tuple[int, list[int | None]]:
    """Return (the offset of values, the size of each option in static storage), which the file decides."""
    base, contains = image.base, image.contains
    places = tuple(at - base if contains(at) else None for at in addresses)
    kept = image.findings.recall(_PLACES, places)
    if kept is None:
        kept = _probe_value_offset(image, addresses), tuple(_size(image, at) for at in addresses)
        image.findings.keep(_PLACES, places, kept)
    offset, sizes = kept
    return offset, sizes


def _size(image: Image, address: int) -> int | None:
    symbol = image.object_at(address) if image.contains(address) else None
    return symbol.size if symbol is not None and symbol.address == address else None


def _probe_value_offset(image: Image, addresses: list[int]) -> int:
    """Find where values are: in every opt<unsigned>, right before the vtable of its OptionValue."""
    vtable, expected = image.findings.find(OPT_OF_UNSIGNED), image.findings.find(OPTION_VALUE_OF_UNSIGNED)
    if vtable is None or expected is None:
        raise MisfitError("the vtable of opt<unsigned> or of its OptionValue is not named")
    of_unsigned = [a for a in addresses if option_at(a).vtable == vtable.address + TABLE_HEAD]
    samples = [load_words(a, _SAMPLE, "an opt<unsigned>") for a in of_unsigned]
    for index in range(_EARLIEST, _SAMPLE):
        if samples and all(words[index] == expected.address + TABLE_HEAD for words in samples):
            return (index - 1) * WORD
    raise MisfitError(f"no offset holds the value in all {len(samples)} opt<unsigned> objects")


def _read_option(
    image: Image,
    classes: _Classes,
    offset: int,
    names: tuple[str, ...],
    address: int,
    size: int | None,
) -> RegisteredOption:
    """Read one option whose head is proven. Raises MisfitError for what does not fit."""
    if size is not None and (size < max(_HEAD, offset + WORD) or size % WORD):
        raise MisfitError(f"the option {names[0]} has {size} bytes")
    words = memoryview(read_checked(address, size or _SMALLEST, "an option", image)).cast("Q")
    of = classes.of(names[0], address, words, size)
    held = words[offset // WORD]  # the value, or what leads to it
    variable, variable_size = 0, None
    if of.type.external:
        variable, variable_size = _find_variable(image, names[0], of.type, held)
    option = RegisteredOption(image, names, address, size, of.type, offset, variable, variable_size)
    if of.type.kind == Kind.libcxx_string:
        _prove_string(names[0], option.place.address)
    if of.type.alias:
        option.alias_of = held
        return option
    option.set_default_index, option.flag_default_index = of.set_default_index, of.flag_default_index
    if of.parser is not None:
        at, vtable, functions = of.parser
        if words[at // WORD] != vtable + image.base:
            raise MisfitError(f"the parser of the option {names[0]} is not that of its class")
        if of.type.kind in (Kind.enumeration, Kind.list, Kind.bits, Kind.other):
            option.choices = Choices(address + at, functions)
    if size is not None:
        option.callback = has_callback(image, address, words)
    return option


def _prove_string(name: str, address: int) -> None:
    """Check that a string of libc++'s is laid out as most are: it can be built with another layout.

    Raises MisfitError.
    """
    room, size, data = words = load_words(address, 3, f"the string of {name}")
    if not room & 1:  # short: twice its size and its characters
        held = array("Q", words).tobytes()
        fits = room % 256 // 2 < len(held) - 1 and held[1 + room % 256 // 2] == 0
    else:
        fits = size < room and read_checked(data + size, 1, f"the string of {name}") == b"\0"
    if not fits:
        raise MisfitError(f"the string of the option {name} is not laid out as libc++'s are by default")


def _find_variable(image: Image, name: str, of_type: OptionType, address: int) -> tuple[int, int | None]:
    """Return (address, size) of the variable behind cl::location; no size if no named object is there."""
    variable = image.findings.object_at(address) if image.contains(address) else None
    size = variable.size if variable is not None and variable.address == address else None
    if of_type.kind != Kind.other or size is not None:
        read_checked(address, size or element_size(of_type.kind) or WORD, f"the variable of {name}")
    return address, size


def has_callback(image: Image, address: int, words: Sequence[int]) -> bool:
    """Return whether setting the option at the address calls anything that does something.

    The last member is a std::function: {..., manager, invoker}; or libc++'s, {callable, ..., the address of
    that, padding}, whose virtual functions do it.
    """
    manager, invoker = words[-2], words[-1]
    if manager == 0:
        return False
    if manager == address + WORD * (len(words) - _LIBCXX_FUNCTION):
        table = words[-_LIBCXX_FUNCTION]
        if _vtable_at(image, table) is None:
            return True
        invoker = load_words(table, _CALL + 1, "a callback")[_CALL]
    if not image.contains(invoker):
        return True
    function = image.findings.function_at(invoker)
    named = function is not None and re.search(mangled_names.IDLE_CALLBACK, function.name)
    return not (named or processor.only_returns(image.initial_bytes(invoker, _ENTRANCE)))
