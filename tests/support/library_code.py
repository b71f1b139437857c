"""The code of llvmlite's library, as the system mapped it, beside its file."""

from __future__ import annotations

import ctypes
import os
import re

LLVMLITE = 0  # index of llvmlite's image where no other one was attached before


def code_pieces() -> list[tuple[int, bytes]]:
    """(address, bytes that the file holds) for the code of llvmlite's library, as the system mapped it."""
    from llvmlite.binding import ffi

    path = os.path.realpath(ffi.lib._name)
    pieces = []
    with open("/proc/self/maps") as maps, open(path, "rb") as file:
        for line in maps:
            match = re.match(r"(\w+)-(\w+) ..x. (\w+) \S+ \d+ +(.*)", line)
            if match is None or match[4] != path:
                continue
            begin, end, offset = (int(match[i], 16) for i in (1, 2, 3))
            file.seek(offset)
            pieces.append((begin, file.read(end - begin)))
    assert pieces, f"no code of {path} is mapped"
    return pieces


def changed_code() -> list[int]:
    """Addresses of the 64-byte lines of the library's code that are not as in its file."""
    changed = []
    for begin, expected in code_pieces():
        actual = ctypes.string_at(begin, len(expected))
        if actual == expected:
            continue
        for at in range(0, len(expected), 64):
            if actual[at : at + 64] != expected[at : at + 64]:
                changed.append(begin + at)
    return changed
