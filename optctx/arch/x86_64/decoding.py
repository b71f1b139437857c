"""The facts about an instruction that redirecting needs, as a decoder gives them."""

from __future__ import annotations

from typing import NamedTuple

LONGEST = 15  # bytes of an x86 instruction


class Reference(NamedTuple):
    """An instruction with a RIP-relative memory operand.

    Registers are general-purpose registers, by the number of the 64-bit register that they are part of: 0
    (rax) to 15 (r15). If the instruction branches or is not `known`, the fields after `known` are not set.
    """

    address: int
    code: bytes
    modrm_at: int  # index of the ModRM byte in `code`
    target: int
    memory_bytes: int  # size of the operand; if not `known`, more than any operand has
    mnemonic: str  # as in Intel's manual, in lower case
    branches: bool  # may continue elsewhere than with the next instruction
    known: bool  # the decoder is sure of all fields
    registers: frozenset[int] = frozenset()  # read or written, explicitly or implicitly
    first: int | None = None  # the first operand, if it is a register
    first_bytes: int = 0  # the size of that operand
    memory_accesses: int = 0  # operands in memory that it reads or writes
    reads: bool = False  # the RIP-relative operand
    writes: bool = False  # the RIP-relative operand
