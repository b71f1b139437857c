"""Reads every registered option of an image: a plain record for each."""

from __future__ import annotations

from dataclasses import dataclass, field

from optctx._native import (
    Image,
    Kind,
    call_pointer,
    call_virtual_pointer,
    call_virtual_text,
    call_virtual_uint,
    option_at,
    read_bytes,
    read_words,
    walk_registry,
)
from optctx.errors import UnsupportedImageError
from optctx.image.sets import ElementNames, find_element_names
from optctx.image.typenames import OptionType, parse_vtable_name

__all__ = ["Choices", "OptionRecord", "Survey", "survey"]

_TOP_LEVEL = "_ZN4llvm2cl10SubCommand11getTopLevelEv"
_REGISTERED = "_ZN4llvm2cl20getRegisteredOptionsERNS0_10SubCommandE"
_UINT_VTABLE = "_ZTVN4llvm2cl3optIjLb0ENS0_6parserIjEEEE"
_VTABLE_HEAD = 16  # bytes of offset-to-top and RTTI before the address point
_WORD = 8
_SMALLEST = 0xA0  # bytes of an option with a value, its default and a parser; on the heap nothing says more
_VIRTUAL = (
    "getNumOptions",
    "getOptionEj",
    "getDescription",
    "getOptionValueEj",
    "setDefault",
    "getValueExpectedFlagDefault",
)


@dataclass(frozen=True)
class Choices:
    """The generic_parser_base of an enum option: its address, and where its virtual functions are."""

    parser: int
    count_index: int
    name_index: int
    help_index: int
    value_index: int

    def names(self) -> list[str]:
        """Choices in LLVM's order."""
        return [call_virtual_text(self.parser, self.name_index, i) for i in range(self._count())]

    def helps(self) -> list[str]:
        """What LLVM says of each choice."""
        return [call_virtual_text(self.parser, self.help_index, i) for i in range(self._count())]

    def stored(self, size: int = 0) -> tuple[int, list[int]]:
        """(bytes of the enum, the integer that each choice stores)."""
        # OptionValue<T>: {vtable, T value, bool valid}
        addresses = [
            call_virtual_pointer(self.parser, self.value_index, i) + _WORD for i in range(self._count())
        ]
        raw = [read_bytes(address, _WORD) for address in addresses]
        if not size:
            size = 1 if raw and all(r[1] == 1 and r[4] != 1 for r in raw) else 4
        return size, [int.from_bytes(r[:size], "little") for r in raw]

    def _count(self) -> int:
        return call_virtual_uint(self.parser, self.count_index)


@dataclass(slots=True)
class OptionRecord:
    """One cl::Option object. Addresses are absolute; sizes are in bytes."""

    names: tuple[str, ...]
    address: int
    size: int | None  # None: on the heap
    type: OptionType
    choices: Choices | ElementNames | None = None
    callback: bool = False
    variable: int = 0  # what cl::location points at, 0 without external storage
    variable_size: int | None = None
    alias_of: int = 0  # address of the option an alias stands for
    set_default_index: int = 0
    flag_default_index: int = 0
    heap_size: int | None = None  # of one on the heap, where static storage has others of its class

    @property
    def name(self) -> str:
        return self.names[0]

    def stored_choices(self) -> tuple[list[str], list[int], int]:
        """(names of the choices, the integer that each stores, bytes of the enum); empty without choices."""
        if self.choices is None:
            return [], [], 4
        size, stored = self.choices.stored(_WORD if self.type.registry_parser else 0)
        return self.choices.names(), stored, size


@dataclass
class Survey:
    """The registry of one image as it was when it was surveyed."""

    layout: str
    value_offset: int
    records: list[OptionRecord] = field(default_factory=list)


@dataclass(frozen=True)
class _Vtable:
    name: str
    slots: dict[str, int]  # part of a mangled function name -> index


class _Vtables:
    """Vtables of options and parsers by the address that objects hold."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._known: dict[int, _Vtable | None] = {}

    def get(self, address: int) -> _Vtable | None:
        if address not in self._known:
            self._known[address] = self._read(address)
        return self._known[address]

    def _read(self, address: int) -> _Vtable | None:
        symbol = self._image.object_at(address) if self._image.contains(address) else None
        if symbol is None or not symbol.name.startswith("_ZTV") or address < symbol.address + _VTABLE_HEAD:
            return None
        slots = {}
        words = read_words(address, (symbol.address + symbol.size - address) // _WORD)
        for index, word in enumerate(words):
            function = self._image.function_at(word) if self._image.contains(word) else None
            if function is None:
                break  # the head of a second base's table
            for part in _VIRTUAL:
                if part in function.name:
                    slots[part] = index
        return _Vtable(symbol.name, slots)


def survey(image: Image) -> Survey:
    """Walks and checks LLVM's registry. Raises UnsupportedImageError with what did not check out."""
    addresses = [image.symbol(name) for name in (_TOP_LEVEL, _REGISTERED)]
    if None in addresses:
        raise UnsupportedImageError(
            f"{image.path}: expected the symbols {_TOP_LEVEL} and {_REGISTERED}, found neither or one"
        )
    top_level, registered = (address for address in addresses if address is not None)
    try:
        layout, options = walk_registry(call_pointer(registered, call_pointer(top_level)))
    except RuntimeError as error:
        raise UnsupportedImageError(f"{image.path}: {error}") from error
    names: dict[int, list[str]] = {}
    for name, address in sorted(options):
        names.setdefault(address, []).append(name)
    offset = _probe_value_offset(image, list(names))
    vtables = _Vtables(image)
    records = [_record(image, vtables, offset, tuple(n), a) for a, n in names.items()]
    _measure_heap(records)
    return Survey(layout, offset, records)


def _measure_heap(records: list[OptionRecord]) -> None:
    sizes = {option_at(each.address).vtable: each.size for each in records if each.size is not None}
    for record in records:
        if record.size is None:
            record.heap_size = sizes.get(option_at(record.address).vtable)
            if record.heap_size is not None:
                record.callback = _has_callback(read_words(record.address, record.heap_size // _WORD))


def _probe_value_offset(image: Image, addresses: list[int]) -> int:
    """In every opt<unsigned> the value comes right before the vtable of its OptionValue."""
    vtable = image.symbol(_UINT_VTABLE)
    expected = image.symbol("_ZTVN4llvm2cl11OptionValueIjEE")
    if vtable is None or expected is None:
        raise UnsupportedImageError(
            f"{image.path}: the vtable of opt<unsigned> or of its OptionValue is not named"
        )
    samples = [read_words(a, 24) for a in addresses if option_at(a).vtable == vtable + _VTABLE_HEAD]
    for index in range(0x60 // _WORD, 24):
        if samples and all(words[index] == expected + _VTABLE_HEAD for words in samples):
            return (index - 1) * _WORD
    raise UnsupportedImageError(
        f"{image.path}: no offset holds the value in all {len(samples)} opt<unsigned> objects"
    )


def _record(
    image: Image, vtables: _Vtables, offset: int, names: tuple[str, ...], address: int
) -> OptionRecord:
    symbol = image.object_at(address) if image.contains(address) else None
    size = symbol.size if symbol is not None and symbol.address == address else None
    vtable = vtables.get(option_at(address).vtable)
    words = read_words(address, (size or _SMALLEST) // _WORD)
    choices = _find_choices(vtables, address, words, offset)
    option_type = parse_vtable_name(vtable.name if vtable else "", choices is not None)
    elements = find_element_names(image, option_type.enum) if option_type.kind == Kind.set else None
    if option_type.kind == Kind.set and elements is None:
        option_type = OptionType(Kind.other)
    record = OptionRecord(names, address, size, option_type)
    if option_type.alias:
        record.alias_of = words[offset // _WORD]
        return record
    if vtable is not None:
        record.set_default_index = vtable.slots.get("setDefault", 0)
        record.flag_default_index = vtable.slots.get("getValueExpectedFlagDefault", 0)
    if option_type.kind in (Kind.enumeration, Kind.list, Kind.bits, Kind.other):
        record.choices = choices
    elif elements is not None:
        record.choices = elements
    if size is not None:
        record.callback = _has_callback(words)
    if option_type.external:
        record.variable = words[offset // _WORD]
        variable = image.object_at(record.variable) if image.contains(record.variable) else None
        if variable is not None and variable.address == record.variable:
            record.variable_size = variable.size
    return record


def _has_callback(words: list[int]) -> bool:
    return words[-2] != 0  # std::function is the last member: {functor, functor, manager, invoker}


def _find_choices(vtables: _Vtables, address: int, words: list[int], offset: int) -> Choices | None:
    for index in range(offset // _WORD, len(words)):
        vtable = vtables.get(words[index])
        if vtable is not None and "getNumOptions" in vtable.slots:
            slots = vtable.slots
            return Choices(
                address + index * _WORD,
                slots["getNumOptions"],
                slots["getOptionEj"],
                slots["getDescription"],
                slots["getOptionValueEj"],
            )
    return None
