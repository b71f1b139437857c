"""A relocatable object in ELF, as LLVM emits it: its sections, symbols and relocations."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")

_RELOCATABLE = 1
_SYMBOLS, _RELOCATIONS, _NO_BITS, _RELOCATIONS_WITHOUT_ADDENDS, _CONSTRUCTORS = 2, 4, 8, 9, 14
_WRITE, _ALLOCATED, _EXECUTED, _THREAD_LOCAL = 1, 2, 4, 0x400
_UNDEFINED, _RESERVED, _ABSOLUTE, _COMMON = 0, 0xFF00, 0xFFF1, 0xFFF2
_WEAK = 2  # of bindings; 0 is local
_TLS, _IFUNC = 6, 10
_MOST_ALIGNMENT = 1 << 21

# Which memory a section belongs to.
CODE, CONSTANTS, VARIABLES = range(3)


class ObjectError(Exception):
    """Why an object cannot be loaded."""


@dataclass
class Symbol:
    """`section`: that defines it; None for an absolute value, or one of another library."""

    name: str
    section: Section | None
    value: int
    defined: bool
    bound: int

    @property
    def weak(self) -> bool:
        return self.bound == _WEAK


@dataclass
class Relocation:
    """A place in a section that depends on where a symbol is. `kind`: as the processor's ABI numbers it."""

    offset: int
    kind: int
    symbol: Symbol
    addend: int


@dataclass
class Section:
    """A section that is in memory when the code runs. `memory`: CODE, CONSTANTS or VARIABLES."""

    memory: int
    size: int
    alignment: int
    data: bytes
    constructors: bool = False
    relocations: list[Relocation] = field(default_factory=list)


@dataclass
class _Header:
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    alignment: int
    entry: int


@dataclass
class Parsed:
    """What an object holds."""

    sections: list[Section]
    symbols: dict[str, Symbol]  # global ones


def parse_object(data: bytes, machine: int) -> Parsed:
    """The parts of an object for a processor. Raises ObjectError for what is none, or is damaged."""
    try:
        return _parse(data, machine)
    except (struct.error, IndexError, OverflowError, MemoryError, ValueError):
        raise ObjectError("it is damaged") from None


def _parse(data: bytes, machine: int) -> Parsed:
    if data[:6] != b"\x7fELF\x02\x01":
        raise ObjectError("it is no object in 64-bit ELF")
    _, kind, its_machine, _, _, _, start, _, _, _, _, size, count, titled = _HEADER.unpack_from(data)
    if kind != _RELOCATABLE:
        raise ObjectError("it is linked already; expected a relocatable object")
    if its_machine != machine:
        raise ObjectError("it is for another processor")
    if size != _SECTION.size or not count:
        raise ObjectError("it is damaged, or has too many sections")
    headers = [_Header(*_SECTION.unpack_from(data, start + place * size)) for place in range(count)]
    titles = _bytes(data, headers[titled])
    sections = [_section(data, header, _text(titles, header.name)) for header in headers]
    symbols: list[Symbol] = []
    commons: list[Section] = []
    table = [place for place, header in enumerate(headers) if header.kind == _SYMBOLS]
    for place in table:
        symbols = list(_symbols(data, headers[place], headers, sections, commons))
    for header in headers:
        section = sections[header.info] if header.kind in (_RELOCATIONS, 9) else None
        if section is None:
            continue
        if header.kind == _RELOCATIONS_WITHOUT_ADDENDS or [header.link] != table:
            raise ObjectError("its relocations are of an unknown form")
        section.relocations += _relocations(data, header, section, symbols)
    return Parsed(
        [*filter(None, sections), *commons],
        {symbol.name: symbol for symbol in symbols if symbol.bound and symbol.defined},
    )


def _bytes(data: bytes, header: _Header) -> bytes:
    if header.offset + header.size > len(data):
        raise ObjectError("it is damaged: it is shorter than it says")
    return data[header.offset : header.offset + header.size]


def _section(data: bytes, header: _Header, name: str) -> Section | None:
    """None for one that is not in memory."""
    if not header.flags & _ALLOCATED:
        return None
    if header.flags & _THREAD_LOCAL:
        raise ObjectError("it has thread-local variables")
    alignment = max(1, header.alignment)
    if alignment & (alignment - 1) or alignment > _MOST_ALIGNMENT:
        raise ObjectError(f"it asks for an alignment of {alignment} bytes")
    memory = VARIABLES if header.flags & _WRITE else CONSTANTS
    return Section(
        CODE if header.flags & _EXECUTED else memory,
        header.size,
        alignment,
        b"" if header.kind == _NO_BITS else _bytes(data, header),
        header.kind == _CONSTRUCTORS or name.split(".")[1:2] == ["ctors"],
    )


def _text(table: bytes, start: int) -> str:
    return table[start : table.index(b"\0", start)].decode() if start else ""


def _symbols(
    data: bytes,
    header: _Header,
    headers: list[_Header],
    sections: list[Section | None],
    commons: list[Section],
) -> Iterator[Symbol]:
    names = _bytes(data, headers[header.link])
    table = _bytes(data, header)
    for start, info, _, place, value, size in _SYMBOL.iter_unpack(table[: len(table) // 24 * 24]):
        name = _text(names, start)
        bound = info >> 4
        if info & 15 in (_TLS, _IFUNC):
            raise ObjectError(f"{name} is thread-local, or chosen when it is loaded")
        if place == _UNDEFINED:
            yield Symbol(name, None, 0, defined=False, bound=bound)
        elif place == _ABSOLUTE:
            yield Symbol(name, None, value, defined=True, bound=bound)
        elif place == _COMMON:  # `value` is its alignment
            commons.append(Section(VARIABLES, size, max(1, value), b""))
            yield Symbol(name, commons[-1], 0, defined=True, bound=bound)
        elif place >= _RESERVED:
            raise ObjectError(f"{name} is defined in an unknown way")
        else:
            yield Symbol(name, sections[place], value, defined=True, bound=bound)


def _relocations(
    data: bytes, header: _Header, section: Section, symbols: list[Symbol]
) -> Iterator[Relocation]:
    table = _bytes(data, header)
    for offset, info, addend in _RELOCATION.iter_unpack(table[: len(table) // 24 * 24]):
        if offset + 4 > section.size or not section.data:
            raise ObjectError("it is damaged: a relocation is outside of its section")
        yield Relocation(offset, info & 0xFFFFFFFF, symbols[info >> 32], addend)
