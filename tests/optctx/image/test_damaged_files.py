"""Files that are no whole ELF library: opening one is one error, and what opens answers without a fault."""

from __future__ import annotations

import ctypes
import pathlib
import random
import resource
import struct

import pytest

from optctx import loaded_image
from optctx._native import Span, find_branches, find_references_to_each, trace
from optctx.children.limits import address_space
from optctx.image.loaded import Image
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, compile_cpp


@pytest.mark.parametrize("stripped", ["", "-s"])
@alone
def test_any_bytes_of_the_headers_and_tables_may_be_wrong(tmp_path: pathlib.Path, stripped: str) -> None:
    library = compile_cpp(
        "library.cpp", tmp_path / "library.so", *SHARED, "-Wl,--build-id=sha1", *stripped.split()
    )
    ctypes.CDLL(str(library))
    base, whole, copy = loaded_image(library).base, library.read_bytes(), library.with_name("damaged.so")
    resource.setrlimit(resource.RLIMIT_AS, (address_space() + (1 << 28), resource.RLIM_INFINITY))

    def ask(content: bytes) -> bool:
        """Whether every question has an answer."""
        copy.write_bytes(content)
        try:
            image = Image(str(copy), base)
            function, data = image.symbol("name_of_shape"), image.symbol("_ZL7counter")
            for at in (function, data, image.text_begin, base, 0, (1 << 64) - 1):
                if at is not None:
                    symbols = [image.function_at(at), image.object_at(at)]
                    for each in symbols:
                        if each is not None:
                            image.initial_bytes(each.address, each.size)
            spans = [Span(data or base, 4)]
            find_references_to_each(image, [spans])
            find_branches(image, [function or base])
            image.pointers_into(spans)
            image.functions_named([("_Z", "")])
            image.slots_of("__cxa_atexit")
            for address in image.initialisers():
                if (start := image.function_at(address)) is not None:
                    trace(image, start)
        except RuntimeError as error:
            if str(copy) not in str(error):
                raise
            return False
        return True

    assert ask(whole)
    dice = random.Random(1)
    (sections,) = struct.unpack_from("<Q", whole, 0x28)
    (count,) = struct.unpack_from("<H", whole, 0x3C)
    words = (0, 1, 0xFF, 1 << 31, 1 << 62, (1 << 64) - 1, len(whole))
    answered = refused = 0
    for turn in range(300):
        damaged = bytearray(whole)
        for _ in range(dice.choice((1, 1, 2, 8))):
            headers = 64 + 56 * 10  # of the file, and of its segments
            table = sections + 8 * dice.randrange(8 * count)
            at = dice.choice((dice.randrange(headers), table, dice.randrange(len(whole))))
            word = dice.choice((*words, dice.getrandbits(64)))
            size = dice.choice((1, 2, 4, 8))
            at = min(at, len(whole) - size)
            damaged[at : at + size] = (word & (1 << 8 * size) - 1).to_bytes(size, "little")
        if turn % 10 == 0:
            del damaged[dice.randrange(len(whole)) :]
        if ask(bytes(damaged)):
            answered += 1
        else:
            refused += 1
    assert answered > 50
    assert refused > 50
