"""Libraries in which references to options would not be found."""

from __future__ import annotations

import ctypes
import pathlib
import struct

import pytest

from optctx import UnsupportedImageError, loaded_image
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, compile_cpp


@alone
def test_references_to_options_that_would_not_be_found_are_an_error(tmp_path: pathlib.Path) -> None:
    """As linkers write them if they are told to: pointers that are packed, code in several sections."""
    source, library = tmp_path / "one.cpp", tmp_path / "library.so"
    source.write_text('extern "C" [[gnu::section("text_of_own")]] int own(); int own() { return 1; }')
    compile_cpp(source, library, *SHARED)
    ctypes.CDLL(str(library))
    with pytest.raises(UnsupportedImageError, match=r"has code outside \.text, where references to options "):
        loaded_image(library)
    library = compile_cpp("library.cpp", tmp_path / "packed.so", *SHARED)
    content = bytearray(library.read_bytes())
    (sections,) = struct.unpack_from("<Q", content, 0x28)
    (count,) = struct.unpack_from("<H", content, 0x3C)
    kinds = [sections + 64 * number + 4 for number in range(count)]
    strings = 1, 0x30  # PROGBITS; MERGE, STRINGS
    [comment] = [at for at in kinds if struct.unpack_from("<IQ", content, at) == strings]
    struct.pack_into("<I", content, comment, 19)
    library.write_bytes(content)
    ctypes.CDLL(str(library))
    with pytest.raises(UnsupportedImageError, match="has pointers that are packed"):
        loaded_image(library)
