"""Tells callgrind what to count, from inside the program that it runs."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

__all__ = ["counted", "counted_calls"]

F = TypeVar("F", bound=Any)  # a function of ctypes

# A client request (valgrind.h, amd64): rax points at six words, the request first; a plain processor runs
# the rotations and the exchange as a long no-op. It changes rdx.
_REQUEST = bytes.fromhex("31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db")  # xor edx, edx; ...
_START, _STOP = 0x43540004, 0x43540005  # callgrind.h: CALLGRIND_{START,STOP}_INSTRUMENTATION
_SAVE = bytes.fromhex("57 56 52 51 4150 4151 4883ec08")  # push rdi, rsi, rdx, rcx, r8, r9; sub rsp, 8
_RESTORE = bytes.fromhex("4883c408 4159 4158 59 5a 5e 5f")
_ALIGN, _UNALIGN, _CALL, _RETURN = (bytes.fromhex(code) for code in ("4883ec08", "4883c408", "ffd0", "c3"))
_FIRST_IN_RAX = bytes.fromhex("4889f8")  # mov rax, rdi


@contextmanager
def counted() -> Iterator[None]:
    """Count what runs inside, and what Python does there, under callgrind with --instr-atstart=no.

    Elsewhere it has no effect.
    """
    request = _function(_FIRST_IN_RAX + _REQUEST + _RETURN, ctypes.CFUNCTYPE(None, ctypes.c_void_p))
    start, stop = ((ctypes.c_uint64 * 6)(code) for code in (_START, _STOP))
    request(start)
    try:
        yield
    finally:
        request(stop)


def counted_calls(function: F) -> F:
    """The function, whose calls callgrind counts with --instr-atstart=no. Elsewhere it is called and no more.

    `function` is one of ctypes, of at most six integers or pointers, that returns nothing. Only its own
    instructions and some ten around them are counted: how much Python does for a call varies. The code stays
    for as long as the result.
    """
    start, stop = ((ctypes.c_uint64 * 6)(code) for code in (_START, _STOP))
    target = ctypes.cast(function, ctypes.c_void_p).value
    assert target is not None
    code = (
        _SAVE
        + (_into_rax(ctypes.addressof(start)) + _REQUEST)
        + _RESTORE
        + _ALIGN
        + (_into_rax(target) + _CALL)
        + (_into_rax(ctypes.addressof(stop)) + _REQUEST)
        + _UNALIGN
        + _RETURN
    )
    return _function(code, type(function), function, start, stop)  # type: ignore[no-any-return]


def _function(code: bytes, form: Any, *kept: object) -> Any:
    """A function of ctypes with this code, which keeps its memory and what else it needs."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    memory = ctypes.c_char.from_buffer(page)
    made = form(ctypes.addressof(memory))
    made.kept = (memory, page, *kept)
    return made


def _into_rax(value: int) -> bytes:
    return b"\x48\xb8" + value.to_bytes(8, "little")  # mov rax, value
