"""Finds every instruction that refers to given storage, decides how each is redirected, and checks the code.

A native scan proposes places. Each function is decoded up to them, because only real instructions count. A
tactic is how a trampoline gets a register for the address of the storage. native/arch/x86_64/trampolines.cpp
makes the code that runs instead of an instruction; it is decoded here, to check it.
"""

from __future__ import annotations

import bisect
import enum
import struct
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from optctx._native import (
    FunctionReferences,
    Library,
    Site,
    Sites,
    Span,
    find_references_in,
    find_references_to_each,
    locate,
    rewrite,
)
from optctx.arch.code import CannotDecodeError, CodeReferences, SiteRefusal
from optctx.arch.x86_64.decoding import LONGEST, Reference
from optctx.errors import UnsupportedImageError

if TYPE_CHECKING:
    from optctx.arch.x86_64.capstone_decoder import CapstoneDecoder


@cache
def decoder() -> CapstoneDecoder:
    """Return the decoder of this process. Raises CannotDecodeError."""
    try:
        from optctx.arch.x86_64.capstone_decoder import CapstoneDecoder  # a kept attach decodes nothing

        return CapstoneDecoder()
    except ImportError as error:
        raise CannotDecodeError(f"capstone cannot be used ({error}); install it") from error


class Tactic(enum.IntEnum):
    """The values of `Site.tactic`, as in native/arch/x86_64/trampolines.cpp."""

    DESTINATION = 0  # the instruction overwrites a whole register that it does not read
    SAVED = 1  # a register is saved on the stack
    CALL = 2  # a call or jump through memory: r11 is free there (System V ABI, 3.2.1)


_DISPLACEMENT = struct.Struct("<i")
_ZERO = bytes(_DISPLACEMENT.size)
_SAMPLE = 0x12345678  # a displacement that no part of an instruction equals by chance


@lru_cache(4096)
def _wrong_rewrite(head: bytes, tail: bytes, scratch: int) -> str:
    """Decode what will run instead of such an instruction; say what is wrong with it.

    It must be the same one, on the memory at a displacement from the scratch register. `head` and `tail`:
    around the displacement, which is what instructions of one form differ in.
    """
    before = head + _ZERO + tail
    code = rewrite(before, len(head) - 1, scratch, _SAMPLE)
    difference = decoder().difference(before, code, 0, scratch, _SAMPLE)
    return difference and f"{code.hex()} {difference}"


_TOO_FAR = "reaches past the storage"
_JUMP_SIZE = 5  # bytes of jmp rel32
# rsp (4) and r12 (12) as a base need a SIB byte, which would make the instruction longer.
_NEEDS_SIB = {4, 12}


def _region_at(address: int, spans: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """Return (begin, size) of the region that contains the address."""
    index = bisect.bisect_right(spans, (address, sys.maxsize)) - 1
    begin, size = spans[index] if index >= 0 else (0, 0)
    return (begin, size) if address < begin + size else None


def find_references_to(
    image: Library, spans: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]
) -> CodeReferences:
    """Find every run-time reference into the spans, and the accesses at or in the `others`.

    One scan proposes the places for both.
    """
    to_spans, to_others = find_references_to_each(image, [_native_spans(spans), _native_spans(others)])
    refusals: list[SiteRefusal] = []
    sites = Sites([*_judged(image, to_spans, spans, refusals)])
    accesses = [
        (reference.target, reference.memory_bytes)
        for references in to_others
        for reference in _references(image, references)
    ]
    return CodeReferences(sites, refusals, accesses)


def _judged(
    image: Library,
    found: Iterable[FunctionReferences],
    spans: Sequence[tuple[int, int]],
    refusals: list[SiteRefusal],
) -> Iterator[Site]:
    """Yield the references that can be redirected. Adds the others to `refusals`."""
    for references in found:
        name, number = references.function.name, references.function.number
        if not name and image.is_stripped:
            refusals += _unknown_code(image, references.places, spans)
        for reference in _references(image, references):
            region = _region_at(reference.target, spans)
            if region is None:
                continue
            outcome = judge(reference, region, name, number)
            if isinstance(outcome, SiteRefusal):
                refusals.append(outcome)
                continue
            code, after = reference.code, reference.modrm_at + 1
            if wrong := _wrong_rewrite(code[:after], code[after + 4 :], outcome.scratch):
                place = f"the instruction {code.hex()} at {reference.address:#x} in {name}"
                raise UnsupportedImageError(f"{place} could not be rewritten: {wrong}")
            yield outcome


def _unknown_code(
    image: Library, places: Iterable[int], spans: Sequence[tuple[int, int]]
) -> Iterator[SiteRefusal]:
    """Refuse what bytes outside every function would refer to: in a stripped library they may be code."""
    for place in places:
        code = image.initial_bytes(place, 1 + _DISPLACEMENT.size)
        target = place + len(code) + _DISPLACEMENT.unpack_from(code, 1)[0]
        for immediate in (0, 1, 2, 4):
            if region := _region_at(target + immediate, spans):
                yield SiteRefusal(place, region[0], "code of no function", code, "its function is not known")


def find_targets(
    image: Library, spans: Sequence[tuple[int, int]], functions: Iterable[int]
) -> list[tuple[int, int]]:
    """Find (function, address in the spans that it refers to). `functions`: numbers of their symbols."""
    return [
        (references.function.number, reference.target)
        for references in find_references_in(image, _native_spans(spans), sorted(functions))
        for reference in _references(image, references)
    ]


def _native_spans(spans: Sequence[tuple[int, int]]) -> list[Span]:
    return [Span(begin, size) for begin, size in spans]


def _references(image: Library, references: FunctionReferences) -> Iterator[Reference]:
    function, by = references.function, decoder()
    if not function.name:
        return  # outside every function: padding or a table, not code with a symbol
    located = locate(image, references)
    if located is not None:
        for address, length, modrm_at in located:
            yield _known(by, image.initial_bytes(address, length), address, modrm_at)
        return
    begin, places = function.address, references.places
    end = min(begin + function.size, places[-1] + LONGEST)
    yield from references_at(places, image.initial_bytes(begin, end - begin), begin, by)


def _known(by: CapstoneDecoder, code: bytes, address: int, modrm_at: int) -> Reference:
    """Decode an instruction, once for all that differ only in the displacement.

    Raises CannotDecodeError if the decoder does not find one instruction with a RIP-relative operand.
    """
    rest = code[modrm_at + 5 :]
    known = _encoding(by, code[: modrm_at + 1], rest)
    displacement = int.from_bytes(code[modrm_at + 1 : modrm_at + 5], "little", signed=True)
    # As `_replace` does, which takes three times as long.
    return Reference(address, code, known.modrm_at, address + len(code) + displacement, *known[4:])


@lru_cache(4096)
def _encoding(by: CapstoneDecoder, head: bytes, tail: bytes) -> Reference:
    code = head + bytes(4) + tail
    end, reference = by.decode(code, 0)
    if (
        end != len(code)
        or reference is None
        or reference.modrm_at != len(head) - 1
        or reference.target != end
    ):
        raise CannotDecodeError(f"{by.name} does not know {code.hex()} as it is known here")
    return reference


def references_at(places: Sequence[int], code: bytes, begin: int, by: CapstoneDecoder) -> Iterator[Reference]:
    """Yield the instructions with a RIP-relative operand whose ModRM byte is at one of the (sorted) places.

    Decoding begins at the start of the function, so places elsewhere in an instruction are recognized.
    """
    position = begin  # always the start of an instruction
    for place in places:
        if place < position:
            continue  # inside the previous instruction
        start = by.start_over(code[position - begin : place + LONGEST - begin], position, place)
        position, reference = by.decode(code[start - begin : start - begin + LONGEST], start)
        if reference is not None and start + reference.modrm_at == place:
            yield reference


class _Way(NamedTuple):
    """How the instructions of one form are redirected, unless they reach past the storage."""

    tactic: Tactic
    scratch: int
    writes: bool
    takes_address: bool
    reads: bool
    memory_bytes: int  # that must be in the storage
    alignment: int  # that the storage must have


def judge(
    reference: Reference, region: tuple[int, int], function: str, number: int = 0
) -> Site | SiteRefusal:
    """Decide how an instruction that refers to the (address, size) region can be redirected.

    `function` and `number`: the name and the number of the symbol of its function.
    """
    address, code, modrm_at, target = reference[:4]
    begin, size = region
    way, offset = _way(len(code), code[:2], reference[4:]), target - begin
    if isinstance(way, str):
        reason = way
    elif offset + way.memory_bytes > size:
        reason = _TOO_FAR
    elif way.alignment > _VECTOR or begin % way.alignment:  # copies are aligned to 16 bytes where it is
        reason = "may need storage that is aligned as LLVM's own is"
    else:
        return Site(address, begin, offset, number, len(code), *way[:2], modrm_at, *way[2:5])
    return SiteRefusal(address, begin, function, code, reason)


@lru_cache(4096)
def _way(size: int, start: bytes, facts: tuple[Any, ...]) -> _Way | str:
    """Return how instructions of `size` bytes with these first ones can be redirected, or why they cannot.

    `facts`: the fields of a Reference from `memory_bytes` on.
    """
    of = Reference(0, start, 0, 0, *facts)
    if of.branches:
        if size != len(_CALL_THROUGH_MEMORY) + 4 or start[:1] != _CALL_THROUGH_MEMORY[:1]:
            return "a branch of another kind than call or jmp through memory"
        return _Way(Tactic.CALL, _R11, False, False, True, 0, 1)
    if size < _JUMP_SIZE:
        return "shorter than a jump"
    if not of.known:
        return "not known well enough by the decoder"
    if _RSP in of.registers:
        return "uses the stack pointer"
    scratch, tactic = _destination(of), Tactic.DESTINATION
    if scratch is None:
        tactic, scratch = Tactic.SAVED, next(n for n in (0, 1, 2, 6, 7, 3, 5) if n not in of.registers)
    if of.mnemonic == "lea":
        return _Way(tactic, scratch, False, True, True, 0, 1)
    if of.memory_accesses != 1:
        return _TOO_FAR
    aligned = of.memory_bytes >= _VECTOR and _is_aligned(of.mnemonic)
    return _Way(
        tactic, scratch, of.writes, False, of.reads, of.memory_bytes, of.memory_bytes if aligned else 1
    )


_CALL_THROUGH_MEMORY = bytes.fromhex("ff15")  # or ff25, which is jmp
_RSP, _R11 = 4, 11
_VECTOR = 16  # bytes; SSE operands of that size must be aligned, unless the instruction allows others
_UNALIGNED = {"movups", "movupd", "movdqu", "lddqu"}
_ALIGNED_VEX = ("vmovaps", "vmovapd", "vmovdqa", "vmovntdqa")  # with that prefix, no others
_OVERWRITING = {"mov", "movzx", "movsx", "movsxd", "lea"}


def _is_aligned(mnemonic: str) -> bool:
    """Tell whether an instruction of that name, on a whole vector in memory, may need it aligned."""
    return mnemonic.startswith(_ALIGNED_VEX) if mnemonic.startswith("v") else mnemonic not in _UNALIGNED


def _destination(reference: Reference) -> int | None:
    """Return the number of a register that it overwrites completely, unread, if that can be a base."""
    if reference.mnemonic not in _OVERWRITING or reference.first_bytes < 4:
        return None  # writing 8 or 16 bits keeps the other bits
    return None if reference.first in _NEEDS_SIB else reference.first
