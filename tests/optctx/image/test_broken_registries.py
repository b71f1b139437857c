"""Memory that is no registry of options, or a broken one, is one error, and nothing changes."""

from __future__ import annotations

import ctypes
import re
import resource
from collections.abc import Callable
from typing import Any

import pytest

import optctx
from optctx._native import MisfitError, registry_layouts, walk_registry
from optctx.children.messages import address_space
from optctx.errors import UnsupportedImageError
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.registry_reader import read_registry
from tests.optctx.image.hand_made import MAPS, Arena, wild_words
from tests.support.alone import alone
from tests.support.library_code import changed_code
from tests.support.rows import rows
from tests.support.scopes import both

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
