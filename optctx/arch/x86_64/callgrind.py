"""Tells callgrind what to count, from inside the program that it runs."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["counted"]

# A client request (valgrind.h, amd64): rax points at six words, the request first; a plain processor runs
# the rotations and the exchange as a long no-op.
_REQUEST = bytes.fromhex(
    "4889f8"  # mov rax, rdi
    "31d2"  # xor edx, edx
    "48c1c703 48c1c70d 48c1c73d 48c1c733 4887db"
    "4889d0"  # mov rax, rdx
    "c3"
)
_START, _STOP = 0x43540004, 0x43540005  # callgrind.h: CALLGRIND_{START,STOP}_INSTRUMENTATION


@contextmanager
def counted() -> Iterator[None]:
    """Count what runs inside, under callgrind with --instr-atstart=no. Elsewhere it has no effect."""
    with mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC) as page:
        page.write(_REQUEST)
        memory = ctypes.c_char.from_buffer(page)
        request = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(ctypes.addressof(memory))
        start, stop = ((ctypes.c_uint64 * 6)(code) for code in (_START, _STOP))
        request(start)
        try:
            yield
        finally:
            request(stop)
            del memory  # or the page could not be closed
