"""Decoding with capstone, through ctypes on the library in its package.

Except for a few instructions, capstone is right about what an instruction is and how long it is. It is often
wrong about what an instruction reads and writes. A table lists that instead (Intel SDM vol. 2), for the
instructions that compilers use on variables. Any other counts as not known, which is safe.
"""

from __future__ import annotations

import ctypes
import re
from typing import Any

from optctx.arch.code import CannotDecodeError
from optctx.arch.x86_64.capstone_library import (
    INSTRUCTION,
    MEMORY,
    REGISTER,
    open_decoder,
    open_library,
)
from optctx.arch.x86_64.decoding import LONGEST, Reference

_PLACE, _SIZE, _ADDRESS = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64

_BRANCHES = {"call", "jmp", "lcall", "ljmp"}
_NEAR = {2, 4}  # the register field of ModRM, in near branches through memory
_MORE_THAN_ANY = 1 << 14  # bytes; no operand in memory has as many
_WRONG_SIZE = {"comisd": 8, "vcomisd": 8}  # bytes of the operand, where capstone is wrong
_OPERAND_SIZE = 0x66
_VEX = (0xC4, 0xC5)  # what an instruction with a VEX prefix begins with
_UNSURE_WITH_SIZE = {"movsxd", "push", "pop"}  # with that prefix capstone has the wrong size

# Instructions whose length capstone gets wrong: ud0 and ud1, which have operands; and jo, jno and ret with an
# operand-size prefix, which the processor ignores. _DOUBTFUL matches bytes that may be one of them.
_NEVER = {"ud0", "ud1"}
_NOT_WITH_SIZE = {"jo", "jno", "ret"}
_PREFIXES = rb"[\x26\x2e\x36\x3e\x64-\x67\xf0\xf2\xf3]*"
_WITH_SIZE = re.compile(_PREFIXES + rb"\x66")
_DOUBTFUL = re.compile(rb"\x0f[\xb9\xff]|\x66" + _PREFIXES + rb"[\x40-\x4f]?(\x0f[\x80\x81]|\xc2)")


def _registers() -> list[list[str]]:
    """List the names of each general-purpose register, of any size, by the number of the 64-bit one."""
    sizes = [["rax", "eax", "ax", "al", "ah"], ["rcx", "ecx", "cx", "cl", "ch"]]
    sizes += [["rdx", "edx", "dx", "dl", "dh"], ["rbx", "ebx", "bx", "bl", "bh"]]
    sizes += [[f"r{name}", f"e{name}", name, f"{name}l"] for name in ("sp", "bp", "si", "di")]
    return sizes + [[f"r{n}", f"r{n}d", f"r{n}w", f"r{n}b"] for n in range(8, 16)]


_GENERAL = {name: number for number, names in enumerate(_registers()) for name in names}
_BASES = [names[0] for names in _registers()]


class CapstoneDecoder:
    """Decodes for one thread at a time. A process makes one only: its memory is never freed.

    Every method may raise CannotDecodeError.
    """

    name = "capstone"

    def __init__(self) -> None:
        """Raise ImportError if there is no library, or one of another version."""
        self._library = open_library()
        # Details take most of the time, and instructions that are only skipped need none.
        self._plain = open_decoder(self._library, details=False)
        self._detailed = open_decoder(self._library, details=True)
        self._one = self._library.cs_malloc(self._detailed)

    def start_over(self, code: bytes, address: int, place: int) -> int:
        """Return the address of the instruction that contains the byte at `place`.

        `code` begins with an instruction, at `address`. It ends LONGEST bytes after `place`, or earlier if
        its function does.
        """
        # The decoder gets the bytes up to `place`. It does not decode an instruction that goes on after that.
        size = place + 1 - address
        many = INSTRUCTION()
        count = self._library.cs_disasm(self._plain, code, size, address, 0, ctypes.byref(many))
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

    def decode(self, code: bytes, address: int) -> tuple[int, Reference | None]:
        """Decode the first instruction of `code`.

        Returns the address after it, and its reference: None if it has none, or is truncated.
        """
        instruction = self._decode(code[:LONGEST], address)
        end = address + instruction.size
        if instruction.size > len(code):
            return end, None
        code = code[: instruction.size]
        detail = instruction.detail.contents.x86
        at = detail.encoding.modrm_offset
        if not at or code[at] & 0xC7 != 0x05:
            return end, None
        target = end + int.from_bytes(code[at + 1 : at + 5], "little", signed=True)
        if detail.addr_size == 4:
            target &= 0xFFFFFFFF
        return end, self._reference((address, code, at, target), _mnemonic(instruction), detail)

    def difference(self, old: bytes, new: bytes, address: int, base: int, displacement: int) -> str:
        """Say what is wrong unless `new` is `old` with the operand [base register + displacement]."""
        was, _, was_text = self._parts(old, address)
        now, memory, now_text = self._parts(new, address)
        same = now == was and self._one.contents.size == len(new)
        if same and memory == (_BASES[base], "", displacement):
            return ""
        return f"decodes as '{now_text}', expected '{was_text}' on another base"

    def _parts(self, code: bytes, address: int) -> tuple[list[Any], tuple[str, str, int] | None, str]:
        """Return (what another base keeps; (base, index, displacement) if in memory; the text)."""
        instruction = self._decode(code, address)
        detail = instruction.detail.contents.x86
        kept = [instruction.id, bytes(detail.prefix), bytes(detail.opcode), detail.addr_size]
        memory = None
        for operand in detail.operands[: detail.op_count]:
            kept += [operand.type, operand.size]
            if operand.type == MEMORY:
                held = operand.value.memory
                kept.append(held.segment)
                memory = self._name(held.base), self._name(held.index), held.displacement
            else:
                kept.append(operand.value.register if operand.type == REGISTER else operand.value.immediate)
        return kept, memory, f"{instruction.mnemonic.decode()} {instruction.op_str.decode()}"

    def _decode(self, code: bytes, address: int) -> Any:
        """Decode the first instruction, valid until the next call. If truncated, it has its full size."""
        # Zeros replace missing bytes: every instruction that can be truncated may end with them.
        place, size, at = _PLACE(code + bytes(LONGEST - len(code))), _SIZE(LONGEST), _ADDRESS(address)
        known = self._library.cs_disasm_iter(
            self._detailed, ctypes.byref(place), ctypes.byref(size), ctypes.byref(at), self._one
        )
        instruction = self._one.contents
        if not known or _is_doubtful(instruction):
            raise CannotDecodeError(f"capstone is not sure of {code.hex()} at {address:#x}")
        return instruction

    def _name(self, register: int) -> str:
        """Return a register's name; empty for none."""
        name: bytes | None = self._library.cs_reg_name(self._detailed, register)
        return "" if name is None else name.decode()

    def _reference(self, place: tuple[int, bytes, int, int], mnemonic: str, detail: Any) -> Reference | None:
        operands = detail.operands[: detail.op_count]
        at = next((i for i, each in enumerate(operands) if each.type == MEMORY), None)
        if mnemonic == "mov" and at is None:
            return None  # to or from a control register
        access = None if at is None else (_AS_OTHER if at else _AS_FIRST).get(mnemonic)
        if mnemonic in _BRANCHES:
            size = operands[0].size if detail.modrm >> 3 & 7 in _NEAR else _MORE_THAN_ANY
            return Reference(*place, size, mnemonic, branches=True, known=True)
        unsure = mnemonic in _UNSURE_WITH_SIZE and _OPERAND_SIZE in detail.prefix
        if mnemonic.startswith("v"):
            unsure = place[1][0] not in _VEX  # EVEX, which masks and repeats; or with another prefix
        if at is None or access is None or unsure:
            return Reference(*place, _MORE_THAN_ANY, mnemonic, branches=False, known=False)
        size = _WRONG_SIZE.get(mnemonic, operands[at].size) if access else 0
        named = [self._name(each.value.register) for each in operands if each.type == REGISTER]
        return Reference(
            *place,
            size,
            mnemonic,
            branches=False,
            known=True,
            registers=frozenset(_GENERAL[register] for register in named if register in _GENERAL)
            | _implicit_registers(mnemonic, len(operands), size),
            first=_GENERAL.get(named[0]) if at else None,
            first_bytes=operands[0].size if at else 0,
            memory_accesses=int(access != 0) + (mnemonic in ("push", "pop")),  # which access the stack too
            reads=bool(access & READ),
            writes=bool(access & WRITE),
        )


def _is_doubtful(instruction: Any) -> bool:
    mnemonic = _mnemonic(instruction)
    if mnemonic in _NOT_WITH_SIZE:
        return _WITH_SIZE.match(bytes(instruction.bytes)) is not None
    return mnemonic in _NEVER


def _mnemonic(instruction: Any) -> str:
    """Return the mnemonic without lock, rep and so on."""
    name: str = instruction.mnemonic.decode()
    return name.rpartition(" ")[2]


READ, WRITE = 1, 2
_ACCESS = {"r": READ, "w": WRITE, "rw": READ | WRITE, "none": 0}

# Columns: the access if memory is the first operand, and if it is another operand. "-": there is no such
# form, or it is not listed.
_PLAIN = """
rw r    add or adc sbb and sub xor
rw rw   xchg
rw -    inc dec neg not rol ror rcl rcr shl shr sar xadd cmpxchg
w  r    mov
r  r    cmp test imul
r  -    mul div idiv push
w  -    pop
w  -    seta setae setb setbe sete setg setge setl setle setne setno setnp setns seto setp sets
-  r    cmova cmovae cmovb cmovbe cmove cmovg cmovge cmovl
-  r    cmovle cmovne cmovno cmovnp cmovns cmovo cmovp cmovs
-  r    movzx movsx movsxd
-  none lea
"""
# Of SSE, which have the same operand in memory with a VEX prefix, and then a `v` in front of their name.
_SSE = """
w  r    movss movsd movd movq movhps movlps movhpd movlpd movups movupd movdqu movaps movapd movdqa
-  r    lddqu comiss comisd ucomiss ucomisd
-  r    addss addsd addps addpd subss subsd subps subpd mulss mulsd mulps mulpd divss divsd divps divpd
-  r    minss minsd minps minpd maxss maxsd maxps maxpd sqrtss sqrtsd sqrtps sqrtpd
-  r    andps andpd andnps andnpd orps orpd xorps xorpd pand pandn por pxor
-  r    paddb paddw paddd paddq psubb psubw psubd psubq
-  r    pcmpeqb pcmpeqw pcmpeqd pcmpgtb pcmpgtw pcmpgtd
-  r    cvtss2sd cvtsd2ss cvtsi2ss cvtsi2sd cvtss2si cvtsd2si cvttss2si cvttsd2si
"""


def _column(index: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for table, prefixes in ((_PLAIN, ("",)), (_SSE, ("", "v"))):
        for line in filter(None, table.split("\n")):
            access, names = line.split()[index], line.split()[2:]
            if access != "-":
                found.update((prefix + name, _ACCESS[access]) for name in names for prefix in prefixes)
    return found


_AS_FIRST, _AS_OTHER = _column(0), _column(1)


_RAX, _RDX, _RSP = 0, 2, 4


def _implicit_registers(mnemonic: str, operands: int, memory_bytes: int) -> set[int]:
    """Return the numbers of the general-purpose registers that the instruction uses without naming them."""
    if mnemonic in ("push", "pop"):
        return {_RSP}
    if mnemonic == "cmpxchg":
        return {_RAX}
    if mnemonic in ("imul", "mul", "div", "idiv") and operands == 1:
        return {_RAX} if memory_bytes == 1 else {_RAX, _RDX}  # ax, or for example edx:eax
    return set()
