"""The code of llvmlite's library, as the system mapped it, beside its file."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
import re
from collections.abc import Iterator
from typing import Any

from optctx._native import read_bytes

LLVMLITE = 0  # index of llvmlite's image where no other one was attached before


def llvm_function(symbol: str, result: Any, *parameters: Any) -> Any:
    """A function of LLVM's, to be called by these types of ctypes."""
    from optctx.engine.attach import attach

    function = attach().image.named(symbol)
    assert function is not None, symbol
    return ctypes.CFUNCTYPE(result, *parameters)(function.address)


def read_words(address: int, count: int) -> list[int]:
    """Read words of LLVM's memory in place."""
    return memoryview(read_bytes(address, count * 8)).cast("Q").tolist()


def code_pieces() -> list[tuple[int, int, int]]:
    """(address, where the file's bytes are mapped again, size) for the code of llvmlite's library."""
    from llvmlite.binding import ffi

    path = os.path.realpath(ffi.lib._name)
    file = ctypes.addressof(_mapped(path))
    pieces = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            match = re.match(r"(\w+)-(\w+) ..x. (\w+) \S+ \d+ +(.*)", line)
            if match is None or match[4] != path:
                continue
            begin, end, offset = (int(match[i], 16) for i in (1, 2, 3))
            pieces.append((begin, file + offset, end - begin))
    assert pieces, f"no code of {path} is mapped"
    return pieces


@functools.cache
def _mapped(path: str) -> ctypes.c_char:
    """The first byte of a file that is mapped until the process ends, past the library's own mapping."""
    with open(path, "rb") as file:
        return ctypes.c_char.from_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


def changed_code() -> list[int]:
    """Addresses of the 64-byte lines of the library's code that are not as in its file."""
    return [line for piece in code_pieces() for line in _differing(*piece)]


def _differing(address: int, expected: int, size: int, step: int = 64 * 16 * 16) -> Iterator[int]:
    """Look at each part of so many bytes, and into those that differ, down to lines."""
    for at in range(0, size, step):
        length = min(step, size - at)
        if not _compare(address + at, expected + at, length):
            continue
        if step == 64:
            yield address + at
        else:
            yield from _differing(address + at, expected + at, length, step // 16)


_compare = ctypes.CDLL(None).memcmp
_compare.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
