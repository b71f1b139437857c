"""Put an object into this process's memory, as a linker and a loader would.

LLVM's own loader for objects (MCJIT) ends the process for code of the default model that refers to a table:
it puts objects where 32-bit addresses do not reach (design/timing.md).
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from optctx.lab.objects.elf import (
    CODE,
    CONSTANTS,
    VARIABLES,
    ObjectError,
    Parsed,
    Relocation,
    Section,
    Symbol,
    parse_object,
)
from optctx.lab.objects.x86_64 import relocations as processor

_PAGE = mmap.PAGESIZE
_MOST = 1 << 30  # bytes of memory
_POINTER = 8
_SYMENT = 1  # RTLD_DL_SYMENT of dladdr1
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_TRAP = b"\xcc"


class _Info(ctypes.Structure):  # Dl_info of <dlfcn.h>
    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


@dataclass
class Loaded:
    """An object in memory. It stays there until the process ends."""

    symbols: dict[str, int]  # addresses of the global ones

    def address(self, name: str) -> int:
        """Raises ObjectError if the object does not define it."""
        try:
            return self.symbols[name]
        except KeyError:
            raise ObjectError(f"it does not define {name}") from None


def load(data: bytes, libraries: Sequence[str] = (), offset: int = 0) -> Loaded:
    """Load an object below 2 GiB, and run its constructors.

    `libraries`: where else symbols are looked for. `offset`: bytes, a multiple of 16 below a page, by which
    code and variables are shifted; an alignment that the object asks for is kept. Raises ObjectError.
    """
    return _Loading(parse_object(data, processor.MACHINE), _opened(libraries), offset).run()


def _opened(libraries: Sequence[str]) -> list[Any]:
    found = [ctypes.CDLL(None)]
    for name in ("libm.so.6", *libraries):
        try:
            found.append(ctypes.CDLL(name))
        except OSError as error:
            raise ObjectError(f"the library {name} cannot be loaded: {error}") from None
    return found


class _Loading:
    """One object on its way into memory: sections, then jumps to far functions, then pointers."""

    def __init__(self, parsed: Parsed, libraries: list[Any], offset: int) -> None:
        self._parsed = parsed
        self._libraries = libraries
        self._offset = offset
        self._places: dict[int, int] = {}  # of a section, by its identity: address
        self._jumps: dict[str, int] = {}  # to a function of a library: address
        self._pointers: dict[tuple[str, int], int] = {}  # to a symbol: address
        self._next_jump = 0
        self._next_pointer = 0

    def run(self) -> Loaded:
        relocations = [each for section in self._parsed.sections for each in section.relocations]
        spans = self._lay_out(len(relocations))
        for section in self._parsed.sections:
            ctypes.memmove(self._places[id(section)], section.data, len(section.data))
            for relocation in section.relocations:
                self._relocate(section, relocation)
        self._protect(spans)
        self._construct()
        return Loaded({name: self._address(symbol) for name, symbol in self._parsed.symbols.items()})

    def _lay_out(self, relocations: int) -> dict[int, tuple[int, int]]:
        """Choose addresses. Return the span of each kind of memory."""
        offsets: dict[int, int] = {}
        spans: dict[int, tuple[int, int]] = {}
        end = 0
        jumps = pointers = 0
        for memory in (CODE, CONSTANTS, VARIABLES):
            start = end
            end += self._offset if memory != CONSTANTS else 0
            for section in self._parsed.sections:
                if section.memory == memory:
                    end = _aligned(end, section.alignment)
                    offsets[id(section)] = end
                    end += section.size
            if memory == CODE:
                jumps = end = _aligned(end, processor.FAR_JUMP_SIZE)
                end += relocations * processor.FAR_JUMP_SIZE
            if memory == CONSTANTS:
                pointers = end = _aligned(end, _POINTER)
                end += relocations * _POINTER
            end = _aligned(end, _PAGE)
            spans[memory] = (start, end - start)
        base = _low_memory(end, max([1, *(section.alignment for section in self._parsed.sections)]))
        ctypes.memset(base, _TRAP[0], spans[CODE][1])
        self._places = {section: base + offset for section, offset in offsets.items()}
        self._next_jump, self._next_pointer = base + jumps, base + pointers
        return {memory: (base + start, size) for memory, (start, size) in spans.items()}

    def _relocate(self, section: Section, relocation: Relocation) -> None:
        place = self._places[id(section)] + relocation.offset
        symbol, kind = relocation.symbol, relocation.kind
        try:
            if processor.wants_pointer(kind):
                target = self._pointer(symbol)
                value = processor.relocated(kind, target, relocation.addend, place)
            else:
                value = self._near(kind, symbol, relocation.addend, place)
        except ValueError as error:
            raise ObjectError(f"{error}{f' ({symbol.name})' if symbol.name else ''}") from None
        if relocation.offset + len(value) > section.size:
            raise ObjectError("it is damaged: a relocation is outside of its section")
        ctypes.memmove(place, value, len(value))

    def _near(self, kind: int, symbol: Symbol, addend: int, place: int) -> bytes:
        """What belongs at a place that refers to a symbol; a far function is reached by a jump."""
        target = self._address(symbol)
        try:
            return processor.relocated(kind, target, addend, place)
        except ValueError:
            if symbol.defined or not target:
                raise
        if not _is_function(target):
            raise ValueError(f"it refers to the variable {symbol.name} of a library; compile it with -fPIC")
        return processor.relocated(kind, self._jump(symbol.name, target), addend, place)

    def _address(self, symbol: Symbol) -> int:
        if symbol.section is not None:
            return self._places[id(symbol.section)] + symbol.value
        if symbol.defined or not symbol.name:
            return symbol.value
        for library in self._libraries:
            try:
                found = ctypes.cast(getattr(library, symbol.name), ctypes.c_void_p).value
            except (AttributeError, ValueError):
                continue
            if found:
                return found
        if symbol.weak:
            return 0
        raise ObjectError(f"it needs {symbol.name}, which no library defines")

    def _jump(self, name: str, target: int) -> int:
        if name not in self._jumps:
            ctypes.memmove(self._next_jump, processor.far_jump(target), processor.FAR_JUMP_SIZE)
            self._jumps[name] = self._next_jump
            self._next_jump += processor.FAR_JUMP_SIZE
        return self._jumps[name]

    def _pointer(self, symbol: Symbol) -> int:
        target = self._address(symbol)
        key = (symbol.name, target)
        if key not in self._pointers:
            ctypes.memmove(self._next_pointer, struct.pack("<Q", target), _POINTER)
            self._pointers[key] = self._next_pointer
            self._next_pointer += _POINTER
        return self._pointers[key]

    def _protect(self, spans: dict[int, tuple[int, int]]) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        for memory, allowed in ((CODE, mmap.PROT_READ | mmap.PROT_EXEC), (CONSTANTS, mmap.PROT_READ)):
            start, size = spans[memory]
            if libc.mprotect(ctypes.c_void_p(start), ctypes.c_size_t(size), allowed):
                raise ObjectError("the system lets no new code run in this process")

    def _construct(self) -> None:
        for section in self._parsed.sections:
            if section.constructors:
                place = self._places[id(section)]
                for offset in range(0, section.size // _POINTER * _POINTER, _POINTER):
                    ctypes.CFUNCTYPE(None)(ctypes.c_uint64.from_address(place + offset).value)()


def _aligned(value: int, alignment: int) -> int:
    return (value + alignment - 1) & -alignment


def _low_memory(size: int, alignment: int) -> int:
    """New memory that can be written, for good. Raises ObjectError if there is not as much."""
    if size > _MOST:
        raise ObjectError(f"it needs {size:,} bytes of memory; an object has at most {_MOST:,}")
    size += alignment
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | processor.NEAR_MAP
    found = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
    if found is None or found == ctypes.c_void_p(-1).value:
        raise ObjectError(f"there are no {size:,} bytes of memory below 2 GiB")
    return _aligned(int(found), max(alignment, _PAGE))


def _is_function(address: int) -> bool:
    """Whether a library says that a function begins at an address."""
    info, symbol = _Info(), ctypes.c_void_p()
    libc = ctypes.CDLL(None)
    if not libc.dladdr1(ctypes.c_void_p(address), ctypes.byref(info), ctypes.byref(symbol), _SYMENT):
        return False
    if not symbol.value:  # inside of a library, where no symbol is: a resolved function
        return True
    return ctypes.c_ubyte.from_address(symbol.value + 4).value & 15 in _FUNCTIONS
