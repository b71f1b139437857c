"""Memory that is no registry of options, or a broken one, is one error, and nothing changes."""

from __future__ import annotations

import ctypes
import itertools
import mmap
import re
import resource
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest

import optctx
from optctx._native import MisfitError, registry_layouts, walk_registry
from optctx.children.messages import address_space
from optctx.errors import UnsupportedImageError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.registry_reader import read_registry
from tests.support.alone import alone
from tests.support.library_code import changed_code
from tests.support.rows import rows
from tests.support.scopes import both

# Memory laid out by hand as LLVM lays out its registry of options, to be broken word by word

PAGE = mmap.PAGESIZE
WORD = 8
EMPTY = (1 << 64) - 1  # the key of a DenseMap's bucket that is free
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mmap.restype = ctypes.c_void_p
_LIBC.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_LIBC.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class Arena:
    """Pages of memory that end where nothing can be read; they stay for the life of the process."""

    def __init__(self, pages: int = 4) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        begin = _LIBC.mmap(None, (pages + 1) * PAGE, mmap.PROT_READ | mmap.PROT_WRITE, flags, -1, 0)
        assert begin not in (None, EMPTY)
        self.begin, self.end, self._free = begin, begin + pages * PAGE, begin
        assert _LIBC.mprotect(self.end, PAGE, 0) == 0

    def take(self, content: bytes) -> int:
        """The address of a copy, aligned to a word."""
        at = self._free
        self._free += -(-len(content) // WORD) * WORD
        assert self._free <= self.end
        ctypes.memmove(at, content, len(content))
        return at

    def words(self, *words: int) -> int:
        return self.take(struct.pack(f"<{len(words)}Q", *(word & EMPTY for word in words)))

    def text(self, text: bytes) -> tuple[int, int]:
        """What a StringRef holds."""
        return self.take(text), len(text)

    def used(self) -> Iterator[int]:
        """The address of each word that was given out."""
        return iter(range(self.begin, self._free, WORD))


def unreadable() -> int:
    """The address of a page that cannot be read, and stays: where one is gone, others may come to lie."""
    return int(_LIBC.mmap(None, PAGE, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0))


def wild_words(arena: Arena) -> list[int]:
    """Words that no registry holds: addresses of nothing or of something else, and sizes of everything."""
    junk = Arena(1)
    ctypes.memset(junk.begin, 0xFF, PAGE)
    zeros = Arena(1)
    here = [arena.begin, arena.begin + 8, arena.end - 4, arena.end]
    sizes = [0, 1, 255, 257, 1 << 20, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 63, EMPTY, EMPTY - 1, EMPTY - 7]
    return [*sizes, *here, junk.begin, zeros.begin, unreadable(), 1 << 47, 0xDEAD << 48]


def option(arena: Arena, name: bytes) -> int:
    """A cl::Option, {vtable, flags, name, help, value name, categories}, and room for its value."""
    general = arena.words(*arena.text(b"General options"))
    texts = [*arena.text(name), *arena.text(b"help of " + name), *arena.text(b"uint")]
    inline = arena.words(general)
    return arena.words(arena.begin, 0, *texts, inline, 1 | 1 << 32, *[0] * 14)


def _buckets(arena: Arena, names: Sequence[bytes], free: Sequence[int]) -> list[list[int]]:
    """A bucket for each name and then those that are free: a power of two, more than half of them free."""
    size = 1 << (len(names) * 2).bit_length()
    used = [[*arena.text(name), option(arena, name)] for name in names]
    return used + [list(free)] * (size - len(names))


def dense_map(arena: Arena, names: Sequence[bytes], *, epoch: bool, tombstones: bool = True) -> int:
    """The address of a DenseMap<StringRef, Option *>, as LLVM 22 has it; without tombstones LLVM 23."""
    buckets = _buckets(arena, names, [EMPTY, 0, 0])
    table = arena.words(*itertools.chain(*buckets))
    counts = [len(names), len(buckets)] if tombstones else [len(names) | len(buckets) << 32]
    return arena.words(*[7] * epoch, table, *counts)


def dense_map_with_bitmap(arena: Arena, names: Sequence[bytes], *, epoch: bool) -> int:
    """The same, as late LLVM 23 and LLVM 24 have it: what free buckets hold means nothing."""
    buckets = _buckets(arena, names, [arena.begin, 1, arena.begin])
    buckets.insert(0, buckets.pop())  # the first bit is clear
    bits = sum(1 << (1 + used) for used in range(len(names)))
    words = -(-len(buckets) // 32)
    table = arena.take(
        struct.pack(f"<{3 * len(buckets)}Q", *itertools.chain(*buckets)) + bits.to_bytes(4 * words, "little")
    )
    return arena.words(*[7] * epoch, table, table + 24 * len(buckets), len(names) | len(buckets) << 32)


def string_map(arena: Arena, names: Sequence[bytes]) -> int:
    """The address of a StringMap<Option *>, as up to LLVM 21."""
    entries = [arena.take(struct.pack("<QQ", len(name), option(arena, name)) + name) for name in names]
    size = 1 << (len(names) * 2).bit_length()
    table = arena.words(*entries, *[0] * (size - len(entries)))
    return arena.words(table, size | len(names) << 32, 16 << 32)


MAPS: dict[str, Callable[[Arena, Sequence[bytes]], int]] = {
    "StringMap": string_map,
    "DenseMap with epoch": partial(dense_map, epoch=True),
    "DenseMap": partial(dense_map, epoch=False),
    "DenseMap without tombstones, with epoch": partial(dense_map, epoch=True, tombstones=False),
    "DenseMap without tombstones": partial(dense_map, epoch=False, tombstones=False),
    "DenseMap with bitmap and epoch": partial(dense_map_with_bitmap, epoch=True),
    "DenseMap with bitmap": partial(dense_map_with_bitmap, epoch=False),
}
"""What lays out a registry, by the name of its layout."""


# What is made of it

NAMES = [b"unroll-count", b"inline-threshold", b"debug", b"a"]
MORE = 1 << 28  # bytes


def limit() -> None:
    """No room for what a broken size asks for: a MemoryError would end the test."""
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + MORE, resource.RLIM_INFINITY))


def walked(map: int) -> tuple[str, list[str]]:
    layout, options = walk_registry(map)
    return layout, sorted(name for name, _ in options)


def place(address: int) -> ctypes.c_uint64:
    return ctypes.c_uint64.from_address(address)


@alone
@rows("layout", MAPS)
def test_a_registry_of_each_layout_is_read_and_refused_with_any_of_its_words_wild(layout: str) -> None:
    arena = Arena()
    map = MAPS[layout](arena, NAMES)
    expected = layout, sorted(name.decode() for name in NAMES)
    assert walked(map) == expected
    refusals = 0
    limit()
    for at in arena.used():
        was = place(at).value
        for word in wild_words(arena)[::3] if at % 16 else wild_words(arena)[1::3]:
            place(at).value = word
            try:
                walk_registry(map)
            except MisfitError as error:
                refusals += "no layout that is known here" in str(error)
        place(at).value = was
    assert walked(map) == expected
    assert refusals > 400


def test_every_layout_that_is_known_is_made_by_hand_here() -> None:
    assert registry_layouts() == list(MAPS)


@alone
def test_the_class_of_an_option_is_proven_and_attaching_is_one_error_that_changes_nothing() -> None:
    """In memory that is whole again, everything works."""
    image, nowhere = llvmlite_image(), wild_words(Arena())[-3]
    found = read_registry(image)

    def of(kind: str, external: bool = False) -> Any:
        types = ((option, option.type) for option in found.options)
        return next(each for each, type in types if (type.kind.name, type.external) == (kind, external))

    def value(option: Any) -> int:
        return int(option.address + found.value_offset)

    def refused(use: Callable[[], object], words: str, address: int, word: int) -> None:
        was, place(address).value = place(address).value, word
        try:
            with pytest.raises(UnsupportedImageError, match=words):
                use()
        finally:
            place(address).value = was

    text, numbers, chosen, outside = of("string"), of("bits"), of("enumeration"), of("boolean", external=True)
    alias = next(option for option in found.options if option.type.alias)
    for address, word in [
        (text.address, nowhere),  # its virtual functions
        (text.address, place(numbers.address).value + 8),
        (chosen.choices.parser, nowhere),  # those of its parser
        (chosen.choices.parser, place(text.address).value),
        (value(alias), alias.address),
        (value(alias), nowhere),
        (value(outside), nowhere),
    ]:
        refused(lambda: read_registry(image), f"^{re.escape(image.path)}", address, word)
    for use in (optctx.registry, lambda: optctx.OptionContext(unroll_count=4), optctx.attach):
        refused(use, "nothing was changed", found.map + 8, nowhere)
        assert changed_code() == []
    with optctx.OptionContext(unroll_count=4):
        assert both() == (4, 4)
