"""Reads every registered option of an image, and proves what it holds."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from optctx._native import (
    Kind,
    MisfitError,
    call_pointer,
    option_at,
    read_checked,
    symbol_near,
    walk_registry,
)
from optctx.image.abi import MANY_PARTS, OptionType, parse_vtable_name, prove_contents
from optctx.image.facts import mangled_names
from optctx.image.facts.fact import Found
from optctx.image.facts.mangled_names import (
    OPT_OF_UNSIGNED,
    OPTION_VALUE_OF_UNSIGNED,
    REGISTERED_OPTIONS,
    TOP_LEVEL,
    TopLevel,
)
from optctx.image.kept_registry import pack_registry, question_of, unpack_registry
from optctx.image.loaded import Image
from optctx.image.memory import WORD, checking, load_words
from optctx.image.options import Choices, RegisteredOption

_QUESTION = "registry"
_VTABLE_HEAD = 16  # bytes of offset-to-top and RTTI before the address point
_SMALLEST = 0xA0  # bytes of an option with a value, its default and a parser; on the heap nothing says more
_LIST = 0x50  # bytes of a list before its parser
_DEFAULT = 0x10  # of cl::MiscFlags
_HEAD = 0x50  # bytes of an Option before its value can come
_EARLIEST, _SAMPLE = 0x60 // WORD, 24  # words: where a value's default can begin; what is looked at for it


class ImageRegistry(NamedTuple):
    """The registry of one image as it was when it was read."""

    layout: str
    map: int  # its address
    value_offset: int
    options: list[RegisteredOption]


class Vtable(NamedTuple):
    name: str
    slots: dict[str, int]  # part of a mangled function name -> index


class Vtables:
    """Vtables of options and parsers by the address that objects hold."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._known: dict[int, Vtable | None] = {}

    def get(self, address: int) -> Vtable | None:
        if address not in self._known:
            self._known[address] = self._read(address)
        return self._known[address]

    def _read(self, address: int) -> Vtable | None:
        symbol = self._image.object_at(address) if self._image.contains(address) else None
        if (
            symbol is None
            or not symbol.name.startswith(mangled_names.VTABLE)
            or address < symbol.address + _VTABLE_HEAD
        ):
            return None
        slots = {}
        words = load_words(address, (symbol.address + symbol.size - address) // WORD, symbol.name)
        for index, word in enumerate(words):
            function = self._image.function_at(word) if self._image.contains(word) else None
            if function is None:
                break  # the head of a second base's table
            for part in mangled_names.VIRTUAL_FUNCTIONS:
                if part in function.name:
                    slots[part] = index
        return Vtable(symbol.name, slots)


def read_registry(image: Image) -> ImageRegistry:
    """Walk LLVM's registry and prove what every option holds and points at, with reads that cannot fault.

    Leaves out the options of other libraries, which can be unloaded.

    Raises UnsupportedImageError with what does not fit.
    """
    top_level, registered = image.findings.need(TOP_LEVEL), image.findings.need(REGISTERED_OPTIONS)
    with checking(image.path):
        return _read(image, call_pointer(registered.address, _subcommand(top_level)))


def _subcommand(found: Found[TopLevel]) -> int:
    """Find the SubCommand that every option belongs to which names no other one."""
    return call_pointer(found.address) if found.form == "call" else found.address


def _read(image: Image, registry: int) -> ImageRegistry:
    layout, entries = walk_registry(registry, image)
    names: dict[int, tuple[str, ...]] = {}
    for name, address in entries:
        beside = not image.contains(address) and symbol_near(address)[1]
        if not beside and not is_placeholder(address):
            names[address] = (*names.get(address, ()), name)
    named = [(own, address) for address, own in names.items()]
    kept = image.findings.recall(_QUESTION, question_of(image, layout, named))
    if kept is not None and (known := unpack_registry(image, named, kept)) is not None:
        found = ImageRegistry(layout, registry, *known)
        for option in found.options:
            if option.type.external or option.type.kind in MANY_PARTS:
                _prove_value(option)
        return found
    offset = _probe_value_offset(image, list(names))
    vtables = Vtables(image)
    options = [read_option(image, vtables, offset, own, address) for own, address in named]
    _prove_aliases(options)
    _measure_heap(image, vtables, options)
    return ImageRegistry(layout, registry, offset, options)


def is_placeholder(address: int) -> bool:
    """Tell whether an option is one of those that LLVM adds when it parses a command line: -h, for `help`.

    They are left out: what is registered must not depend on whether anything has parsed a command line yet.
    """
    return bool(option_at(address).misc & _DEFAULT)


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
            return library or ("" if is_placeholder(address) else "code outside LLVM")
    return ""


def keep_registry(image: Image, registry: ImageRegistry) -> None:
    """Keep it with what else is known of the library's file."""
    named = [(option.names, option.address) for option in registry.options]
    packed = pack_registry(image, registry.value_offset, registry.options)
    if packed is not None:
        image.findings.keep(_QUESTION, question_of(image, registry.layout, named), packed)


def _prove_aliases(options: list[RegisteredOption]) -> None:
    """Check that every alias leads to an option that is none. Raises MisfitError."""
    aliases = {each.address: each.alias_of for each in options}
    for option in options:
        at = option.address
        for _ in range(len(options)):
            if not aliases.get(at):
                break
            at = aliases[at]
        if aliases.get(at) != 0:
            raise MisfitError(f"the alias {option.name} leads to no option")


def _measure_heap(image: Image, vtables: Vtables, options: list[RegisteredOption]) -> None:
    """Find the sizes of options on the heap from those in static storage whose members are the same."""
    sizes = {_members(vtables, each): each.size for each in options if each.size is not None}
    for option in options:
        if option.size is None:
            option.heap_size = sizes.get(_members(vtables, option))
            if option.heap_size is not None:
                words = load_words(option.address, option.heap_size // WORD, "an option")
                option.callback = has_callback(image, words)


def _members(vtables: Vtables, option: RegisteredOption) -> str:
    """Name what an option consists of: its class, or its parser if it leads to an object of any class."""
    vtable = vtables.get(option_at(option.address).vtable)
    assert vtable is not None  # the option has been read
    match = re.fullmatch(mangled_names.OPT, vtable.name)
    if match is not None and option.type == OptionType(Kind.other, external=True):
        return match["parser"]
    return vtable.name


def _probe_value_offset(image: Image, addresses: list[int]) -> int:
    """Find where values are: in every opt<unsigned>, right before the vtable of its OptionValue."""
    vtable, expected = image.findings.find(OPT_OF_UNSIGNED), image.findings.find(OPTION_VALUE_OF_UNSIGNED)
    if vtable is None or expected is None:
        raise MisfitError("the vtable of opt<unsigned> or of its OptionValue is not named")
    of_unsigned = [a for a in addresses if option_at(a).vtable == vtable.address + _VTABLE_HEAD]
    samples = [load_words(a, _SAMPLE, "an opt<unsigned>") for a in of_unsigned]
    for index in range(_EARLIEST, _SAMPLE):
        if samples and all(words[index] == expected.address + _VTABLE_HEAD for words in samples):
            return (index - 1) * WORD
    raise MisfitError(f"no offset holds the value in all {len(samples)} opt<unsigned> objects")


def read_option(
    image: Image, vtables: Vtables, offset: int, names: tuple[str, ...], address: int
) -> RegisteredOption:
    """Read one option whose head is proven. Raises MisfitError for what does not fit."""
    symbol = image.object_at(address) if image.contains(address) else None
    size = symbol.size if symbol is not None and symbol.address == address else None
    vtable = vtables.get(option_at(address).vtable)
    if vtable is None:
        raise MisfitError(f"the virtual functions of the option {names[0]} are not a table of the library")
    if size is not None and (size < max(_HEAD, offset + WORD) or size % WORD):
        raise MisfitError(f"the option {names[0]} has {size} bytes")
    words = load_words(address, (size or _SMALLEST) // WORD, "an option")
    choices = _find_choices(vtables, address, words, offset)
    option_type = parse_vtable_name(vtable.name, choices is not None)
    variable, variable_size = 0, None
    if option_type.external:
        variable, variable_size = _find_variable(image, names[0], words[offset // WORD])
    option = RegisteredOption(
        names, address, size, option_type, offset, variable=variable, variable_size=variable_size
    )
    if option_type.alias:
        option.alias_of = words[offset // WORD]
        return option
    option.set_default_index = vtable.slots.get("setDefault", 0)
    option.flag_default_index = vtable.slots.get("getValueExpectedFlagDefault", 0)
    if option_type.kind in (Kind.enumeration, Kind.list, Kind.bits, Kind.other):
        option.choices = choices
    if option_type.kind == Kind.list:
        _prove_list_layout(vtables, option)
    if size is not None:
        option.callback = has_callback(image, words)
    _prove_value(option)
    return option


def _prove_value(option: RegisteredOption) -> None:
    if not option.type.alias:
        prove_contents(option.name, option.type, option.place.address, option.variable_size)


def _prove_list_layout(vtables: Vtables, option: RegisteredOption) -> None:
    """Prove that the list's parser begins where it does in a list whose layout is known."""
    *_, parser = load_words(option.place.address, _LIST // WORD + 1, "a list")
    if vtables.get(parser) is None:
        option.type = option.type._replace(supported=False)


def _find_variable(image: Image, name: str, address: int) -> tuple[int, int | None]:
    """Return (address, size) of the variable behind cl::location; no size if no named object is there."""
    variable = image.object_at(address) if image.contains(address) else None
    if variable is None or variable.address != address:
        return address, None
    read_checked(address, variable.size, f"the variable of {name}")
    return address, variable.size


def has_callback(image: Image, words: list[int]) -> bool:
    """Return whether setting the option calls anything that does something."""
    *_, manager, invoker = words  # std::function is the last member: {functor, functor, manager, invoker}
    function = image.function_at(invoker) if image.contains(invoker) else None
    idle = function is not None and re.search(mangled_names.IDLE_CALLBACK, function.name)
    return manager != 0 and not idle


def _find_choices(vtables: Vtables, address: int, words: list[int], offset: int) -> Choices | None:
    for index in range(offset // WORD, len(words)):
        vtable = vtables.get(words[index])
        if vtable is not None and "getNumOptions" in vtable.slots:
            slots = vtable.slots
            return Choices(
                address + index * WORD,
                slots["getNumOptions"],
                slots["getOptionEj"],
                slots["getDescription"],
                slots["getOptionValueEj"],
            )
    return None
