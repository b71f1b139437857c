"""Finds every instruction that refers to given storage, and decides how each one can be redirected.

A native scan proposes places; iced-x86 decodes each function up to them: only real instructions count.
"""

from __future__ import annotations

import bisect
import enum
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iced_x86 import (
    Decoder,
    FlowControl,
    Instruction,
    InstructionInfoFactory,
    MemorySizeExt,
    Mnemonic,
    OpAccess,
    OpKind,
    Register,
    RegisterExt,
)

from optctx._native import FunctionReferences, Image, Span, find_references

__all__ = ["Site", "SiteRefusal", "Tactic", "find_accesses", "find_sites"]

_JUMP_SIZE = 5  # bytes of jmp rel32
_LONGEST = 15  # bytes of an x86 instruction
_WRITES = {OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}
# rsp (4) and r12 (12) as a base need a SIB byte, which would make the instruction longer.
_NEEDS_SIB = {4, 12}


class Tactic(str, enum.Enum):
    """How the trampoline gets a register for the address of the storage."""

    DESTINATION = "destination"  # the instruction overwrites a whole register that it does not read
    SAVED = "saved"  # a register is kept on the stack meanwhile
    CALL = "call"  # a call or jump through memory: r11 belongs to nobody there (System V ABI, 3.2.1)


@dataclass(frozen=True)
class Site:
    """One instruction that refers to the region that begins at `region`, `offset` bytes into it."""

    address: int
    code: bytes
    region: int
    offset: int
    function: str
    tactic: Tactic
    scratch: int  # number of the register, 0 (rax) to 15 (r15)
    modrm_at: int  # index of the ModRM byte in `code`
    writes: bool
    takes_address: bool
    reads: bool  # or takes the address, for whatever comes later


@dataclass(frozen=True)
class SiteRefusal:
    """An instruction that refers to a region and cannot be redirected."""

    address: int
    region: int
    function: str
    code: bytes
    reason: str


class _Regions:
    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._begins = [begin for begin, _ in spans]
        self._sizes = [size for _, size in spans]

    def find(self, address: int) -> tuple[int, int] | None:
        """(begin, size) of the region that holds the address."""
        index = bisect.bisect_right(self._begins, address) - 1
        if index >= 0 and address - self._begins[index] < self._sizes[index]:
            return self._begins[index], self._sizes[index]
        return None


def find_sites(image: Image, spans: Sequence[tuple[int, int]]) -> tuple[list[Site], list[SiteRefusal]]:
    """Every run-time reference into the (address, size) spans, which are sorted and disjoint."""
    regions = _Regions(spans)
    factory = InstructionInfoFactory()
    sites: list[Site] = []
    refusals: list[SiteRefusal] = []
    for references in find_references(image, [Span(begin, size) for begin, size in spans]):
        name = references.function.name
        for instruction, code, modrm_at in _instructions(image, references):
            region = regions.find(instruction.ip_rel_memory_address)
            if region is None:
                continue
            outcome = _judge(factory, instruction, code, modrm_at, region, name)
            if isinstance(outcome, Site):
                sites.append(outcome)
            else:
                refusals.append(outcome)
    return sites, refusals


def find_accesses(image: Image, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(address, bytes) of what run-time instructions refer to at or in the spans, redirectable or not."""
    return [
        (instruction.ip_rel_memory_address, _memory_bytes(instruction))
        for references in find_references(image, [Span(begin, size) for begin, size in spans])
        for instruction, _, _ in _instructions(image, references)
    ]


def _instructions(image: Image, references: FunctionReferences) -> Iterator[tuple[Instruction, bytes, int]]:
    """The real instructions with a RIP-relative operand at the proposed places: (itself, bytes, ModRM index).

    Decoding runs from the start of the function, so a place in the middle of an instruction is seen as such.
    """
    begin = references.function.address
    if not references.function.name:
        return  # outside every function: padding or a table, not code that a symbol leads to
    places = references.modrm_at
    end = min(begin + references.function.size, places[-1] + _LONGEST)
    data = image.initial_bytes(begin, end - begin)
    position = begin  # always the start of an instruction
    for place in places:
        if place < position:
            continue  # inside the instruction before
        start = _start_of(data, begin, position, place)
        decoder = Decoder(64, data[start - begin : start - begin + _LONGEST], ip=start)
        instruction = decoder.decode()
        position = instruction.next_ip
        if instruction.is_ip_rel_memory_operand:
            at = decoder.get_constant_offsets(instruction).displacement_offset - 1
            if start + at == place:
                yield instruction, data[start - begin : position - begin], at


def _start_of(data: bytes, begin: int, position: int, place: int) -> int:
    """Address of the instruction that holds the byte at `place`, decoding from `position` on.

    The bytes given to the decoder end with that byte, so that instruction is the last one, cut off or not.
    """
    decoder = Decoder(64, data[position - begin : place + 1 - begin], ip=position)
    return int(deque(decoder, maxlen=1)[0].ip)


def _judge(
    factory: InstructionInfoFactory,
    instruction: Instruction,
    code: bytes,
    modrm_at: int,
    region: tuple[int, int],
    function: str,
) -> Site | SiteRefusal:
    begin, size = region
    offset = instruction.ip_rel_memory_address - begin

    def refuse(reason: str) -> SiteRefusal:
        return SiteRefusal(instruction.ip, begin, function, code, reason)

    if instruction.flow_control != FlowControl.NEXT:
        if len(code) != len(_CALL_THROUGH_MEMORY) + 4 or code[:1] != _CALL_THROUGH_MEMORY[:1]:
            return refuse("a branch of another kind than call or jmp through memory")
        return Site(
            instruction.ip, code, begin, offset, function, Tactic.CALL, _R11, modrm_at, False, False, True
        )
    if len(code) < _JUMP_SIZE:
        return refuse("shorter than a jump")
    info = factory.info(instruction)
    used = {RegisterExt.full_register(use.register): use.access for use in info.used_registers()}
    if Register.RSP in used:
        return refuse("uses the stack pointer")
    takes_address = instruction.mnemonic == Mnemonic.LEA
    memory = info.used_memory()
    if not takes_address and (len(memory) != 1 or offset + _memory_bytes(instruction) > size):
        return refuse("reaches past the storage")
    if not takes_address and _memory_bytes(instruction) >= _VECTOR and instruction.mnemonic not in _UNALIGNED:
        return refuse("may need storage that is aligned as LLVM's own is")
    scratch = _destination(instruction)
    tactic = Tactic.DESTINATION
    if scratch is None:
        tactic = Tactic.SAVED
        scratch = next(n for n in (0, 1, 2, 6, 7, 3, 5) if Register.RAX + n not in used)
    writes = not takes_address and memory[0].access in _WRITES
    reads = takes_address or memory[0].access != OpAccess.WRITE
    return Site(
        instruction.ip, code, begin, offset, function, tactic, scratch, modrm_at, writes, takes_address, reads
    )


def _memory_bytes(instruction: Instruction) -> int:
    return int(MemorySizeExt.size(instruction.memory_size))


_CALL_THROUGH_MEMORY = bytes.fromhex("ff15")  # or ff25, which is jmp
_R11 = 11
_VECTOR = 16  # bytes: SSE operands of that size are aligned unless the instruction says otherwise
_UNALIGNED = {Mnemonic.MOVUPS, Mnemonic.MOVUPD, Mnemonic.MOVDQU, Mnemonic.LDDQU}


_OVERWRITING = {Mnemonic.MOV, Mnemonic.MOVZX, Mnemonic.MOVSX, Mnemonic.MOVSXD, Mnemonic.LEA}


def _destination(instruction: Instruction) -> int | None:
    """Number of a register that the instruction overwrites whole without reading it, if it can be a base."""
    if instruction.mnemonic not in _OVERWRITING or instruction.op0_kind != OpKind.REGISTER:
        return None
    register = instruction.op0_register
    if RegisterExt.size(register) < 4:  # writing 8 or 16 bits keeps the others
        return None
    number = RegisterExt.number(register)
    return None if number in _NEEDS_SIB else int(number)
