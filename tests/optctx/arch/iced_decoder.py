"""Decoding with iced-x86, which knows every instruction: the decoder of the package is held against it."""

from __future__ import annotations

from collections import deque

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

from optctx.arch.x86_64.decoding import LONGEST, Reference

_MOST_KNOWN = 1024
_WRITES = {OpAccess.WRITE, OpAccess.READ_WRITE, OpAccess.COND_WRITE, OpAccess.READ_COND_WRITE}
_MNEMONICS = {number: name for name, number in vars(Mnemonic).items() if isinstance(number, int)}
# General-purpose register of any size -> number of the 64-bit register.
_GENERAL = {
    register: full - Register.RAX
    for name, register in vars(Register).items()
    if name.isupper() and Register.RAX <= (full := RegisterExt.full_register(register)) <= Register.R15
}


class IcedDecoder:
    """As CapstoneDecoder. Knows all instructions, and skips bytes that are none."""

    name = "iced-x86"

    def __init__(self) -> None:
        self._factory = InstructionInfoFactory()
        self._known: dict[bytes, Reference] = {}  # by the instruction without its displacement

    def start_over(self, code: bytes, address: int, place: int) -> int:
        # The decoder gets the bytes up to `place`: its last instruction, truncated or not, has that byte.
        decoder = Decoder(64, code[: place + 1 - address], ip=address)
        return int(deque(decoder, maxlen=1)[0].ip)

    def decode(self, code: bytes, address: int) -> tuple[int, Reference | None]:
        decoder = Decoder(64, code[:LONGEST], ip=address)
        instruction = decoder.decode()
        if not instruction.is_ip_rel_memory_operand:
            return instruction.next_ip, None
        modrm_at = decoder.get_constant_offsets(instruction).displacement_offset - 1
        code = code[: instruction.len]
        encoding = code[: modrm_at + 1] + code[modrm_at + 5 :]  # a few hundred for thousands of instructions
        known = self._known.get(encoding)
        if known is None:
            known = self._reference(instruction, code, modrm_at)
            if len(self._known) < _MOST_KNOWN:
                self._known[encoding] = known
        found = known._replace(address=address, code=code, target=instruction.ip_rel_memory_address)
        return instruction.next_ip, found

    def _reference(self, instruction: Instruction, code: bytes, modrm_at: int) -> Reference:
        branches = instruction.flow_control != FlowControl.NEXT
        always = (
            instruction.ip,
            code,
            modrm_at,
            instruction.ip_rel_memory_address,
            MemorySizeExt.size(instruction.memory_size),
            _MNEMONICS[instruction.mnemonic].lower(),
            branches,
            True,
        )
        if branches:
            return Reference(*always)
        info = self._factory.info(instruction)
        memory = info.used_memory()
        access = memory[0].access if memory else OpAccess.NONE
        register = instruction.op0_register if instruction.op0_kind == OpKind.REGISTER else Register.NONE
        return Reference(
            *always,
            frozenset(
                each for use in info.used_registers() if (each := _GENERAL.get(use.register)) is not None
            ),
            _GENERAL.get(register),
            RegisterExt.size(register),
            len(memory),
            bool(memory) and access != OpAccess.WRITE,
            access in _WRITES,
        )

    def difference(self, old: bytes, new: bytes, address: int, base: int, displacement: int) -> str:
        was = Decoder(64, old, ip=address).decode()
        now = Decoder(64, new, ip=address).decode()
        same = (
            now.code == was.code
            and now.len == len(new)
            and now.memory_base == Register.RAX + base
            and now.memory_index == Register.NONE
            and now.memory_displacement == displacement
            and now.op_count == was.op_count
            and all(now.op_kind(i) == was.op_kind(i) for i in range(was.op_count))
            and now.op0_register == was.op0_register
            and now.op1_register == was.op1_register
            and now.op2_register == was.op2_register
        )
        return "" if same else f"decodes as '{now}', expected '{was}' on another base"
