"""Thunks: machine code that runs before and after an intercepted function (System V ABI, 3.2).

A thunk has the function's own signature: up to six integer arguments, an integer result, no stack arguments.
It saves the arguments, lets optctx change them, and calls the function with them.
"""

from __future__ import annotations

import struct

__all__ = ["branch_to", "passing_thunk", "thunk"]

# rdi, rsi, rdx, rcx, r8, r9: mov [rsp + 8 * i], register; and the reverse
_SAVE = bytes.fromhex("48893c24 4889742408 4889542410 48894c2418 4c89442420 4c894c2428")
_LOAD = bytes.fromhex("488b3c24 488b742408 488b542410 488b4c2418 4c8b442420 4c8b4c2428")
_ENTER = bytes.fromhex("55 4889e5 4883ec50")  # push rbp; mov rbp, rsp; sub rsp, 80: still aligned to 16
_DROP = b"\xc9"  # leave
_LEAVE = bytes.fromhex("488b442430 c9 c3")  # mov rax, [rsp + 48]; leave; ret
_RESULT = bytes.fromhex("4889442430")  # mov [rsp + 48], rax
_ANSWER = bytes.fromhex("4889442438")  # mov [rsp + 56], rax
_TAKE_ANSWER = bytes.fromhex("488b7c2438")  # mov rdi, [rsp + 56]
_FIRST_IS_RSP = bytes.fromhex("4889e6")  # mov rsi, rsp


def thunk(target: int, entry: int, before: int, after: int, skip_answer: int, switch: int = 0) -> bytes:
    """See `Processor`."""
    passed = branch_to(target, is_jump=True)
    rest = [
        _LOAD,
        _call(target),
        _RESULT,
        _TAKE_ANSWER,
        bytes.fromhex("4885ff"),  # test rdi, rdi
    ]
    finish = _call(after)
    rest += [b"\x74", struct.pack("b", len(finish)), finish]  # je past it
    work = b"".join(rest)
    return b"".join(
        [
            b"\x49\xbb" + struct.pack("<Q", switch) if switch else b"",  # mov r11, switch
            bytes.fromhex("41803b00") if switch else b"",  # cmp byte [r11], 0
            b"\x75" + struct.pack("b", len(passed)) + passed if switch else b"",  # jne past the jump
            _ENTER,
            _SAVE,
            b"\xbf",
            struct.pack("<I", entry),  # mov edi, entry
            _FIRST_IS_RSP,
            _call(before),
            _ANSWER,
            bytes.fromhex("b9"),
            struct.pack("<I", skip_answer),  # mov ecx, skip_answer
            bytes.fromhex("4839c8"),  # cmp rax, rcx
            bytes.fromhex("0f84"),
            struct.pack("<i", len(work)),  # je past the call
            work,
            _LEAVE,
        ]
    )


def passing_thunk(target: int, entry: int, passing: int) -> bytes:
    """See `Processor`. It leaves nothing on the stack: `target` may have more arguments, and any result."""
    return b"".join(
        [
            _ENTER,
            _SAVE,
            b"\xbf",
            struct.pack("<I", entry),  # mov edi, entry
            _FIRST_IS_RSP,
            _call(passing),
            _LOAD,
            _DROP,
            branch_to(target, is_jump=True),
        ]
    )


def branch_to(address: int, *, is_jump: bool) -> bytes:
    """call or jmp to an absolute address through r11, which is free there."""
    return b"\x49\xbb" + struct.pack("<Q", address) + (b"\x41\xff\xe3" if is_jump else b"\x41\xff\xd3")


def _call(address: int) -> bytes:
    """mov rax, address; call rax"""
    return b"\x48\xb8" + struct.pack("<Q", address) + b"\xff\xd0"
