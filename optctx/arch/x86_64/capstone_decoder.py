"""Decoding with capstone, through ctypes on the library in its package.

Except for a few instructions, capstone is right about what an instruction is and how long it is. It is often
wrong about what an instruction reads and writes, which `optctx.arch.x86_64.effects` lists instead.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

import capstone
from capstone import x86_const as x86

from optctx.arch.processor import CannotDecodeError
from optctx.arch.x86_64.decoding import LONGEST, Decoded, Reference
from optctx.arch.x86_64.effects import AS_FIRST, AS_OTHER, READ, WRITE, implicit_registers, is_vex

__all__ = ["CapstoneDecoder"]

_MAJOR = 5  # version of the library with the structures used here
_INSTRUCTION = ctypes.POINTER(capstone._cs_insn)
_PLACE, _SIZE, _ADDRESS = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64
_FUNCTIONS: dict[str, tuple[Any, ...]] = {  # result, handle, other arguments (capstone.h)
    "cs_malloc": (_INSTRUCTION, _SIZE),
    "cs_free": (None, _INSTRUCTION, _SIZE),
    "cs_disasm": (_SIZE, _SIZE, _PLACE, _SIZE, _ADDRESS, _SIZE, ctypes.POINTER(_INSTRUCTION)),
    "cs_disasm_iter": (
        ctypes.c_bool,
        _SIZE,
        ctypes.POINTER(_PLACE),
        ctypes.POINTER(_SIZE),
        ctypes.POINTER(_ADDRESS),
        _INSTRUCTION,
    ),
}

_BRANCHES = {"call", "jmp", "lcall", "ljmp"}
_NEAR = {2, 4}  # the register field of ModRM, in near branches through memory
_MORE_THAN_ANY = 1 << 14  # bytes; no operand in memory has as many
_WRONG_SIZE = {"comisd": 8, "vcomisd": 8}  # bytes of the operand, where capstone is wrong
_OPERAND_SIZE = 0x66
_VEX = (0xC4, 0xC5)  # what an instruction with a VEX prefix begins with
_UNSURE_WITH_SIZE = {"movsxd", "push", "pop"}  # with that prefix capstone has the wrong size

# Instructions whose length capstone gets wrong: ud0 and ud1, which have operands; and jo, jno and ret with an
# operand-size prefix, which the processor ignores. _DOUBTFUL matches bytes that may be one of them.
_NEVER = {x86.X86_INS_UD0, x86.X86_INS_UD1}
_NOT_WITH_SIZE = {x86.X86_INS_JO, x86.X86_INS_JNO, x86.X86_INS_RET}
_PREFIXES = rb"[\x26\x2e\x36\x3e\x64-\x67\xf0\xf2\xf3]*"
_WITH_SIZE = re.compile(_PREFIXES + rb"\x66")
_DOUBTFUL = re.compile(rb"\x0f[\xb9\xff]|\x66" + _PREFIXES + rb"[\x40-\x4f]?(\x0f[\x80\x81]|\xc2)")


def _registers() -> tuple[dict[int, int], list[int]]:
    """Return (capstone's register of any size -> number of the 64-bit one, the 64-bit ones by number)."""
    sizes = [["rax", "eax", "ax", "al", "ah"], ["rcx", "ecx", "cx", "cl", "ch"]]
    sizes += [["rdx", "edx", "dx", "dl", "dh"], ["rbx", "ebx", "bx", "bl", "bh"]]
    sizes += [[f"r{name}", f"e{name}", name, f"{name}l"] for name in ("sp", "bp", "si", "di")]
    sizes += [[f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b"] for n in range(8, 16)]
    found = [[getattr(x86, f"X86_REG_{name.upper()}") for name in names] for names in sizes]
    return {each: number for number, same in enumerate(found) for each in same}, [same[0] for same in found]


_GENERAL, _BASES = _registers()


class CapstoneDecoder:
    """Decodes for one thread at a time. A process makes one only: its memory is never freed.

    Every method may raise CannotDecodeError.
    """

    name = "capstone"

    def __init__(self) -> None:
        """Raise ImportError if the library has another version."""
        major, minor, _ = capstone.cs_version()
        if major != _MAJOR:
            raise ImportError(f"found capstone {major}.{minor}, expected {_MAJOR}")
        self._library = ctypes.CDLL(capstone._cs._name)  # with prototypes of its own
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        # Details take most of the time, and instructions that are only skipped need none.
        self._plain = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._detailed = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
        self._detailed.detail = True
        self._one = self._library.cs_malloc(self._detailed.csh)

    def start_over(self, code: bytes, address: int, place: int) -> int:
        """Return the address of the instruction that contains the byte at `place`.

        `code` begins with an instruction, at `address`. It ends LONGEST bytes after `place`, or earlier if
        its function does.
        """
        # The decoder gets the bytes up to `place`. It does not decode an instruction that goes on after that.
        size = place + 1 - address
        many = _INSTRUCTION()
        count = self._library.cs_disasm(self._plain.csh, code, size, address, 0, ctypes.byref(many))
        end = address
        if count:
            last = many[count - 1]
            begin, end = last.address, last.address + last.size
            doubtful = _DOUBTFUL.search(code, 0, size) and next(
                (bytes(each.bytes[: each.size]) for each in many[:count] if _is_doubtful(each)), None
            )
            self._library.cs_free(many, count)
            if doubtful:
                raise CannotDecodeError(f"capstone is not sure of {doubtful.hex()}, after {address:#x}")
            if end == address + size:
                return int(begin)
        rest = code[end - address : end - address + LONGEST]
        if end + self._decode(rest, end).size <= place:
            raise CannotDecodeError(f"capstone is not sure of {rest.hex()} at {end:#x}")
        return int(end)

    def decode(self, code: bytes, address: int) -> Decoded:
        """Decode the first instruction of `code`. If it is truncated, `reference` is None."""
        instruction = self._decode(code[:LONGEST], address)
        end = address + instruction.size
        if instruction.size > len(code):
            return Decoded(end, None)
        code = code[: instruction.size]
        detail = instruction.detail.contents.arch.x86
        at = detail.encoding.modrm_offset
        if not at or code[at] & 0xC7 != 0x05:
            return Decoded(end, None)
        if instruction.id == x86.X86_INS_MOV and not _has_memory(detail):
            return Decoded(end, None)  # to or from a control register
        target = end + int.from_bytes(code[at + 1 : at + 5], "little", signed=True)
        if detail.addr_size == 4:
            target &= 0xFFFFFFFF
        mnemonic = instruction.mnemonic.decode().rpartition(" ")[2]  # without lock, rep and so on
        return Decoded(end, _reference((address, code, at, target), mnemonic, detail))

    def difference(self, old: bytes, new: bytes, address: int, base: int, displacement: int) -> str:
        """Say what is wrong unless `new` is `old` with the operand [base register + displacement]."""
        was, _, was_text = self._parts(old, address)
        now, memory, now_text = self._parts(new, address)
        same = now == was and self._one.contents.size == len(new)
        if same and memory == (_BASES[base], x86.X86_REG_INVALID, displacement):
            return ""
        return f"decodes as '{now_text}', expected '{was_text}' on another base"

    def _parts(self, code: bytes, address: int) -> tuple[list[Any], tuple[int, int, int] | None, str]:
        """Return (what another base keeps; (base, index, displacement) if in memory; the text)."""
        instruction = self._decode(code, address)
        detail = instruction.detail.contents.arch.x86
        kept = [instruction.id, bytes(detail.prefix), bytes(detail.opcode), detail.addr_size]
        memory = None
        for operand in detail.operands[: detail.op_count]:
            kept += [operand.type, operand.size]
            if operand.type == x86.X86_OP_MEM:
                kept.append(operand.mem.segment)
                memory = operand.mem.base, operand.mem.index, operand.mem.disp
            else:
                kept.append(operand.reg if operand.type == x86.X86_OP_REG else operand.imm)
        return kept, memory, f"{instruction.mnemonic.decode()} {instruction.op_str.decode()}"

    def _decode(self, code: bytes, address: int) -> Any:
        """Decode the first instruction, valid until the next call. If truncated, it has its full size."""
        # Zeros replace missing bytes: every instruction that can be truncated may end with them.
        place, size, at = _PLACE(code + bytes(LONGEST - len(code))), _SIZE(LONGEST), _ADDRESS(address)
        known = self._library.cs_disasm_iter(
            self._detailed.csh, ctypes.byref(place), ctypes.byref(size), ctypes.byref(at), self._one
        )
        instruction = self._one.contents
        if not known or _is_doubtful(instruction):
            raise CannotDecodeError(f"capstone is not sure of {code.hex()} at {address:#x}")
        return instruction


def _is_doubtful(instruction: Any) -> bool:
    if instruction.id in _NOT_WITH_SIZE:
        return _WITH_SIZE.match(bytes(instruction.bytes)) is not None
    return instruction.id in _NEVER


def _has_memory(detail: Any) -> bool:
    return any(operand.type == x86.X86_OP_MEM for operand in detail.operands[: detail.op_count])


def _reference(place: tuple[int, bytes, int, int], mnemonic: str, detail: Any) -> Reference:
    operands = detail.operands[: detail.op_count]
    at = next((i for i, each in enumerate(operands) if each.type == x86.X86_OP_MEM), None)
    access = None if at is None else (AS_OTHER if at else AS_FIRST).get(mnemonic)
    if mnemonic in _BRANCHES:
        size = operands[0].size if detail.modrm >> 3 & 7 in _NEAR else _MORE_THAN_ANY
        return Reference(*place, size, mnemonic, branches=True, known=True)
    unsure = mnemonic in _UNSURE_WITH_SIZE and _OPERAND_SIZE in detail.prefix
    if is_vex(mnemonic):
        unsure = place[1][0] not in _VEX  # EVEX, which masks and repeats; or with another prefix
    if at is None or access is None or unsure:
        return Reference(*place, _MORE_THAN_ANY, mnemonic, branches=False, known=False)
    size = _WRONG_SIZE.get(mnemonic, operands[at].size) if access else 0
    named = [each.reg for each in operands if each.type == x86.X86_OP_REG]
    return Reference(
        *place,
        size,
        mnemonic,
        branches=False,
        known=True,
        registers={_GENERAL[register] for register in named if register in _GENERAL}
        | implicit_registers(mnemonic, len(operands), size),
        first=_GENERAL.get(named[0]) if at else None,
        first_bytes=operands[0].size if at else 0,
        memory_accesses=_accesses(mnemonic, access),
        reads=bool(access & READ),
        writes=bool(access & WRITE),
    )


def _accesses(mnemonic: str, access: int) -> int:
    """Count the operands in memory: the named one, and the stack."""
    return int(access != 0) + (mnemonic in ("push", "pop"))
