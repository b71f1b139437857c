"""What redirecting has to know of x86-64 instructions, and the package that tells it.

iced-x86 where it can be imported. Else capstone, which is slower: iced-x86 has no wheel for every interpreter
that llvmlite has one for (not for free-threaded ones).
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from functools import cache
from typing import NamedTuple, Protocol

from optctx.arch.processor import CannotDecodeError

__all__ = ["LONGEST", "Decoded", "Decoder", "Reference", "decoder"]

LONGEST = 15  # bytes of an x86 instruction


class Reference(NamedTuple):
    """An instruction with a RIP-relative memory operand.

    Registers are general ones, by the number of the 64-bit register that they are part of: 0 (rax) to 15
    (r15). Of an instruction that branches or is not `known`, what follows `known` says nothing.
    """

    address: int
    code: bytes
    modrm_at: int  # index of the ModRM byte in `code`
    target: int
    memory_bytes: int  # of what it refers to; where it is not `known`, more than it can be
    mnemonic: str  # as in Intel's manual, in small letters
    branches: bool  # does not simply go on with the next instruction
    known: bool  # the decoder is sure of all of this
    registers: AbstractSet[int] = frozenset()  # read or written, named in the instruction or not
    first: int | None = None  # the register that is its first operand
    first_bytes: int = 0  # the size of that operand
    memory_accesses: int = 0  # operands in memory that it reads or writes
    reads: bool = False  # the RIP-relative one
    writes: bool = False


class Decoded(NamedTuple):
    """One instruction: the address after it, and the rest if it refers to anything."""

    end: int
    reference: Reference | None


class Decoder(Protocol):
    """For one thread at a time. Every method may raise CannotDecodeError."""

    name: str

    def start_over(self, code: bytes, address: int, place: int) -> int:
        """Address of the instruction that holds the byte at `place`.

        `code` begins with an instruction, at `address`. Where it does not go on for LONGEST bytes from
        `place`, its function ends.
        """

    def decode(self, code: bytes, address: int) -> Decoded:
        """The first instruction of `code`. One that is cut off refers to nothing."""

    def difference(self, old: bytes, new: bytes, address: int, base: int, displacement: int) -> str:
        """Empty if `new` is the instruction `old` on [base register + displacement], else what is wrong."""


@cache
def decoder() -> Decoder:
    """The decoder of this process. Raises CannotDecodeError."""
    try:
        from optctx.arch.x86_64.decoding_iced import IcedDecoder

        return IcedDecoder()
    except ImportError as error:
        missing = str(error)
    try:
        from optctx.arch.x86_64.decoding_capstone import CapstoneDecoder

        return CapstoneDecoder()
    except ImportError as error:
        raise CannotDecodeError(
            f"neither iced-x86 nor capstone can be used ({missing}; {error}); install one of them"
        ) from error
