"""Tells callgrind what to count, from inside the program that it runs."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager

# A client request (valgrind.h, amd64): rax points at six words, the request first; a plain processor runs
# the rotations and the exchange as a long no-op. It changes rdx.
_REQUEST = bytes.fromhex("31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db")  # xor edx, edx; ...
_START, _STOP = 0x43540004, 0x43540005  # callgrind.h: CALLGRIND_{START,STOP}_INSTRUMENTATION
_RAX_IS_FIRST, _RETURN = bytes.fromhex("4889f8"), bytes.fromhex("c3")  # mov rax, rdi; ret
_IR = """store i64 {code}, ptr %request
  %requested.{code} = call i64 asm sideeffect "{rotations}xchgq %rbx, %rbx",
    "={{rdx}},{{rax}},0,~{{cc}},~{{memory}}"(ptr %request, i64 0)"""
_ROTATIONS = "".join(f"rolq $${bits}, %rdi; " for bits in (3, 13, 61, 51))
_BEGIN, _END = (_IR.format(code=code, rotations=_ROTATIONS) for code in (_START, _STOP))

COUNTED = f"%request = alloca [6 x i64]\n  {_BEGIN}", _END
"""Lines of IR around what callgrind is to count, with --instr-atstart=no. Elsewhere they have no effect."""


@contextmanager
def counted() -> Iterator[None]:
    """Count what runs inside, and what Python does there, under callgrind with --instr-atstart=no.

    Elsewhere it has no effect.
    """
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(_RAX_IS_FIRST + _REQUEST + _RETURN)
    memory = ctypes.c_char.from_buffer(page)
    request = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(ctypes.addressof(memory))
    start, stop = ((ctypes.c_uint64 * 6)(code) for code in (_START, _STOP))
    request(start)
    try:
        yield
    finally:
        request(stop)
