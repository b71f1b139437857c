"""The names of LLVM's passes, as the library itself lists them (`opt -print-passes`)."""

from __future__ import annotations

import ctypes
import os
import re
from ctypes import c_bool, c_int, c_void_p
from functools import cache

from optctx._native import Image

__all__ = ["pass_names"]

# llvm::PassBuilder::printPassNames(llvm::raw_ostream &), which uses nothing of its object
_PRINT = "_ZN4llvm11PassBuilder14printPassNamesERNS_11raw_ostreamE"
# llvm::raw_fd_ostream::raw_fd_ostream(int fd, bool close, bool unbuffered,
# llvm::raw_ostream::OStreamKind), and its end
_MAKE_STREAM = "_ZN4llvm14raw_fd_ostreamC1EibbNS_11raw_ostream11OStreamKindE"
_END_STREAM = "_ZN4llvm14raw_fd_ostreamD1Ev"
_STREAM_SIZE = 1024  # bytes; an llvm::raw_fd_ostream takes about a hundred
_FD_STREAM = 1  # raw_ostream::OStreamKind::OK_FDStream
_LONGEST = 1 << 20  # bytes; LLVM 22 prints 12 KB


@cache
def pass_names(image: Image) -> dict[str, str]:
    """Name, without parameters -> what it runs on: "module", "cgscc", "function" or "loop".

    Empty if the library cannot list them.

    Takes a millisecond, and changes nothing.
    """
    print_names, make_stream, end_stream = map(image.symbol, (_PRINT, _MAKE_STREAM, _END_STREAM))
    if print_names is None or make_stream is None or end_stream is None:
        return {}
    descriptor = os.memfd_create("passes")
    try:
        stream = ctypes.create_string_buffer(_STREAM_SIZE)
        at = ctypes.addressof(stream)
        make = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_bool, c_bool, c_int)(make_stream)
        make(at, descriptor, False, True, _FD_STREAM)
        ctypes.CFUNCTYPE(None, c_void_p, c_void_p)(print_names)(at, at)
        ctypes.CFUNCTYPE(None, c_void_p)(end_stream)(at)
        text = os.pread(descriptor, _LONGEST, 0).decode()
    finally:
        os.close(descriptor)
    return _passes(text)


def _passes(text: str) -> dict[str, str]:
    """Those of the sections of passes; analyses are no passes, and llvmlite cannot run machine passes."""
    found: dict[str, str] = {}
    kind = ""
    for line in text.splitlines():
        if not line.startswith(" "):
            section = re.match(r"(Module|CGSCC|Function|Loop)(Nest)? passes", line)
            kind = section[1].lower() if section else ""
        elif kind:
            found.setdefault(line.strip().partition("<")[0], kind)
    return found
