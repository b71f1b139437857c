"""Code that runs before a function of LLVM, and after it or in its place (System V ABI, 3.2).

Branches to the function lead to a thunk, which has the function's own signature: up to six integer arguments,
an integer result, no stack arguments. It saves the arguments, lets optctx change them, and calls the function
with them.

A function that any code may call is redirected at its entrance: the first instruction that is long enough for
a jump, after the few that save registers. Up to there, every argument is where the caller put it, and the
changes to the stack are known and can be undone.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Mapping, Sequence

from optctx._native import Library
from optctx._native import find_branches as find_candidates
from optctx.arch.code import Entrance, FunctionEntrance
from optctx.arch.x86_64.decoding import LONGEST
from optctx.arch.x86_64.sites import decoder

_BRANCH = 5  # bytes of call rel32 and jmp rel32
_RETURNS = re.compile(rb"(\xf3\x0f\x1e\xfa)?\xf3?\xc3")  # ret, perhaps behind endbr64
_JUMP = b"\xe9"


def only_returns(code: bytes) -> bool:
    """Tell whether a function that begins with this code does nothing."""
    return _RETURNS.match(code) is not None


def find_branches(image: Library, targets: Mapping[int, str]) -> Iterator[Entrance]:
    """Find every branch to one of the targets, in functions whose names have the right prefix.

    `targets`: address -> prefix of the names of the functions whose branches count.

    Each function is decoded from its start up to the candidates.
    """
    for address, target in find_candidates(image, list(targets)):
        function = image.function_at(address)
        if function is None:
            continue  # between functions: padding or a table
        if not function.name.startswith(targets[target]):
            continue
        begin, last = function.address, address + _BRANCH - 1
        size = min(max(function.size, last + 1 - begin), last + LONGEST - begin)
        code = image.initial_bytes(begin, size)
        if decoder().start_over(code, begin, last) == address:
            found = code[address - begin : last + 1 - begin]
            yield Entrance(address, target, found, found[:1] == _JUMP)


# In the frame are the arguments, from [rsp] on: rdi, rsi, rdx, rcx, r8, r9. Behind them come a word for the
# result, at [rsp + 48], and one more, at [rsp + 56]. Each instruction here moves between one of them and its
# register, or rax.
_REGISTERS = 6
_SAVE = bytes.fromhex("48893c24 4889742408 4889542410 48894c2418 4c89442420 4c894c2428")
_LOAD = bytes.fromhex("488b3c24 488b742408 488b542410 488b4c2418 4c8b442420 4c8b4c2428")
_SAVE_RAX, _LOAD_RAX = bytes.fromhex("4889442438"), bytes.fromhex("488b442438")  # [rsp + 56]
_KEEP_RESULT, _RESULT = bytes.fromhex("4889442430"), bytes.fromhex("488b442430")
_ENTER = bytes.fromhex("55 4889e5 4883ec50")  # push rbp; mov rbp, rsp; sub rsp, 80: still aligned to 16
_ALIGN = bytes.fromhex("4883e4f0")  # and rsp, -16
_LEAVE, _RETURN = b"\xc9", b"\xc3"


def thunk(target: int, entry: int, before: int, after: int, skip_answer: int, switch: int) -> bytes:
    """Make position-independent code that runs instead of `target`.

    It calls `before(entry, arguments)`, which may change the six integer arguments. If the answer is
    `skip_answer`, the code returns the result that `before` has put behind the arguments. Otherwise it
    calls `target`, then `after(answer)` unless the answer is 0, and returns the result of `target`.
    `switch`: the address of a byte; while that is 0, `target` runs as if nothing were there.
    """
    passed = branch_to(target, is_jump=True)
    rest = [
        _LOAD,
        _call(target),
        _KEEP_RESULT,
        bytes.fromhex("488b7c2438"),  # mov rdi, [rsp + 56]: the answer
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
            _for_optctx(entry),
            _call(before),
            _SAVE_RAX,
            bytes.fromhex("b9"),
            struct.pack("<I", skip_answer),  # mov ecx, skip_answer
            bytes.fromhex("4839c8"),  # cmp rax, rcx
            bytes.fromhex("0f84"),
            struct.pack("<i", len(work)),  # je past the call
            work,
            _RESULT,
            _LEAVE,
            _RETURN,
        ]
    )


def register_of(words: Sequence[int]) -> int:
    """Return which of the integer arguments a function has as its last parameter.

    `words`: sizes of all parameters up to that one, of integers, pointers and structs of them, in words.
    Raises ValueError if it is in memory.

    What does not fit in the registers left is in memory, and they stay free.
    """
    used = 0
    for size in words[:-1]:
        used += size if used + size <= _REGISTERS else 0
    if used + words[-1] > _REGISTERS:
        raise ValueError(f"the last argument of {words} words is in memory")
    return used


def passing_thunk(target: int, entry: int, passing: int) -> bytes:
    """Make code that calls `passing(entry, arguments)`, which may change them, and jumps to `target`.

    It leaves nothing on the stack: `target` may have more arguments, and any result.
    """
    return b"".join(
        [
            _ENTER,
            _SAVE,
            _for_optctx(entry),
            _call(passing),
            _LOAD,
            _LEAVE,
            branch_to(target, is_jump=True),
        ]
    )


def branch_to(address: int, *, is_jump: bool) -> bytes:
    """Make a call of an absolute address, or a jump to it.

    Goes through r11, which is free there.
    """
    return b"\x49\xbb" + struct.pack("<Q", address) + (b"\x41\xff\xe3" if is_jump else b"\x41\xff\xd3")


def _call(address: int) -> bytes:
    return b"\x48\xb8" + struct.pack("<Q", address) + b"\xff\xd0"  # mov rax, address; call rax


def _for_optctx(entry: int) -> bytes:
    return b"\xbf" + struct.pack("<I", entry) + bytes.fromhex("4889e6")  # mov edi, entry; mov rsi, rsp


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
_LOAD_RIP = re.compile(
    rb"([\x48\x4c])\x8b([\x05\x0d\x15\x1d\x25\x2d\x35\x3d])(....)", re.DOTALL
)  # mov r64, [rip + d]

_RSP = 4
_ARGUMENTS = {7, 6, 2, 1, 8, 9}  # rdi, rsi, rdx, rcx, r8, r9


def find_entrance(image: Library, function: int) -> FunctionEntrance | None:
    """Find where this function can be redirected. Returns None if it does not begin as expected."""
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
    instruction = next((m[0] for m in (p.match(code, at) for p in (_SUB, _SET, _CALL, _LOAD_RIP)) if m), b"")
    if not instruction:
        return None
    return FunctionEntrance(function + at, instruction, tuple(pushed), below)


def entrance_code(entrance: FunctionEntrance, entry: int, before: int) -> bytes:
    """Make code to run instead of the instruction at the entrance, without the jump back.

    It calls `before(entry, arguments, stack)`. `arguments` points at the six integer arguments, with room
    for a result behind them, and `stack` at the return address. If the answer is not 0, the function
    returns that result. Otherwise the function runs.
    """
    depth = 8 * len(entrance.saved) + entrance.reserved  # bytes from the stack pointer to the return address
    done = _RESULT + _LEAVE + _undo(entrance) + _RETURN
    return b"".join(
        [
            _ENTER,
            _ALIGN,
            _SAVE,
            _SAVE_RAX,
            _for_optctx(entry),
            b"\x48\x8d\x95" + struct.pack("<i", 8 + depth),  # lea rdx, [rbp + 8 + depth]
            _call(before),
            bytes.fromhex("85c0"),  # test eax, eax
            b"\x74" + struct.pack("b", len(done)),  # je past it
            done,
            _LOAD,
            _LOAD_RAX,
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
    """Make the redirected instruction for another address. r11 is free there, as at a call."""
    code, end = entrance.code, entrance.address + len(entrance.code)
    if _CALL.fullmatch(code):
        return branch_to(end + _displacement(code), is_jump=False)
    if found := _LOAD_RIP.fullmatch(code):
        rex = found[1][0] | 1  # the base is r11
        modrm = found[2][0] & 0x38 | 3
        address = end + _displacement(code)
        return b"\x49\xbb" + struct.pack("<Q", address) + bytes([rex, 0x8B, modrm])
    return code


def _displacement(code: bytes) -> int:
    return int.from_bytes(code[-4:], "little", signed=True)
