"""Code that runs when a function is entered, whichever code calls it, and may return in its place.

The function is redirected at the first instruction that is long enough for a jump, after the few that save
registers (System V ABI, 3.2). Up to there, every argument is where the caller put it, and the changes to the
stack are known and can be undone.
"""

from __future__ import annotations

import re
import struct

from optctx._native import Library
from optctx.arch.processor import FunctionEntrance
from optctx.arch.x86_64.thunks import branch_to

__all__ = ["entrance_code", "find_entrance"]

_MOST = 64  # bytes of a function to examine

_PUSH = re.compile(rb"\x41?[\x50-\x57]", re.DOTALL)
# mov between general registers: the destination is the register (8b) or the r/m operand (89).
_MOVE = re.compile(rb"[\x40-\x4f]?[\x89\x8b][\xc0-\xff]", re.DOTALL)
_SHORT_SUB = re.compile(rb"\x48\x83\xec([\x00-\x7f])", re.DOTALL)  # sub rsp, imm8
_XOR_EAX = re.compile(rb"\x31\xc0", re.DOTALL)
# The instructions at which a function can be redirected.
_SUB = re.compile(rb"\x48\x81\xec....", re.DOTALL)  # sub rsp, imm32
_SET = re.compile(rb"\x41?[\xb8-\xbb\xbd-\xbf]....", re.DOTALL)  # mov r32, imm32; not esp, r12d
_CALL = re.compile(rb"\xe8(....)", re.DOTALL)
_LOAD = re.compile(
    rb"([\x48\x4c])\x8b([\x05\x0d\x15\x1d\x25\x2d\x35\x3d])(....)", re.DOTALL
)  # mov r64, [rip + d]

_RSP = 4
_ARGUMENTS = {7, 6, 2, 1, 8, 9}  # rdi, rsi, rdx, rcx, r8, r9

# rdi, rsi, rdx, rcx, r8, r9 in this order, then room for the result, then rax: mov [rsp + 8 * i], register
_SAVE = bytes.fromhex("48893c24 4889742408 4889542410 48894c2418 4c89442420 4c894c2428 4889442438")
_LOAD_ALL = bytes.fromhex("488b3c24 488b742408 488b542410 488b4c2418 4c8b442420 4c8b4c2428 488b442438")
_ENTER = bytes.fromhex("55 4889e5 4883ec50 4883e4f0")  # push rbp; mov rbp, rsp; sub rsp, 80; and rsp, -16
_LEAVE = b"\xc9"
_RESULT = bytes.fromhex("488b442430")  # mov rax, [rsp + 48]


def find_entrance(image: Library, function: int) -> FunctionEntrance | None:
    """See `Processor`."""
    code = image.initial_bytes(function, _MOST)
    pushed: list[int] = []
    below = at = 0
    while at < len(code):
        if found := _PUSH.match(code, at):
            if below:
                return None
            pushed.append(found[0][-1] - 0x50 + (8 if len(found[0]) == 2 else 0))
        elif found := _SHORT_SUB.match(code, at):
            below += found[1][0]
        else:
            found = _harmless(code, at)
            if found is None:
                break
        at = found.end()
    instruction = next((m[0] for m in (p.match(code, at) for p in (_SUB, _SET, _CALL, _LOAD)) if m), b"")
    if not instruction:
        return None
    return FunctionEntrance(function + at, instruction, tuple(pushed), below)


def entrance_code(entrance: FunctionEntrance, entry: int, before: int) -> bytes:
    """See `Processor`."""
    depth = 8 * len(entrance.saved) + entrance.reserved  # bytes from the stack pointer to the return address
    done = _RESULT + _LEAVE + _undo(entrance) + b"\xc3"
    return b"".join(
        [
            _ENTER,
            _SAVE,
            b"\xbf" + struct.pack("<I", entry),  # mov edi, entry
            bytes.fromhex("4889e6"),  # mov rsi, rsp
            b"\x48\x8d\x95" + struct.pack("<i", 8 + depth),  # lea rdx, [rbp + 8 + depth]
            b"\x48\xb8" + struct.pack("<Q", before) + b"\xff\xd0",  # mov rax, before; call rax
            bytes.fromhex("85c0"),  # test eax, eax
            b"\x74" + struct.pack("b", len(done)),  # je past it
            done,
            _LOAD_ALL,
            _LEAVE,
            _elsewhere(entrance),
        ]
    )


def _harmless(code: bytes, at: int) -> re.Match[bytes] | None:
    """Match an instruction that does not change the arguments or the stack."""
    if found := _XOR_EAX.match(code, at):
        return found
    found = _MOVE.match(code, at)
    return found if found and _destination(found[0]) not in {_RSP, *_ARGUMENTS} else None


def _destination(move: bytes) -> int:
    rex = move[0] if move[0] & 0xF0 == 0x40 else 0
    modrm = move[-1]
    if move[-2] == 0x8B:
        return (modrm >> 3 & 7) + (8 if rex & 4 else 0)
    return (modrm & 7) + (8 if rex & 1 else 0)


def _undo(entrance: FunctionEntrance) -> bytes:
    code = (
        b"\x48\x81\xc4" + struct.pack("<i", entrance.reserved) if entrance.reserved else b""
    )  # add rsp, imm32
    for register in reversed(entrance.saved):
        code += (b"\x41" if register >= 8 else b"") + bytes([0x58 + register % 8])
    return code


def _elsewhere(entrance: FunctionEntrance) -> bytes:
    """The redirected instruction for another address. r11 is free when a function begins, and at a call."""
    code, end = entrance.code, entrance.address + len(entrance.code)
    if _CALL.fullmatch(code):
        return branch_to(end + _displacement(code), is_jump=False)
    if found := _LOAD.fullmatch(code):
        rex = found[1][0] | 1  # the base is r11
        modrm = found[2][0] & 0x38 | 3
        address = end + _displacement(code)
        return b"\x49\xbb" + struct.pack("<Q", address) + bytes([rex, 0x8B, modrm])
    return code


def _displacement(code: bytes) -> int:
    displacement: int = struct.unpack("<i", code[-4:])[0]
    return displacement
