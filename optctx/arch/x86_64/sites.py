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
from functools import lru_cache
from typing import TYPE_CHECKING

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
from optctx.arch.x86_64.decoder import decoder
from optctx.arch.x86_64.decoding import LONGEST, Reference
from optctx.errors import UnsupportedImageError

if TYPE_CHECKING:
    from optctx.arch.x86_64.capstone_decoder import CapstoneDecoder


class Tactic(enum.IntEnum):
    """The values of `Site.tactic`, as in native/arch/x86_64/trampolines.cpp."""

    DESTINATION = 0  # the instruction overwrites a whole register that it does not read
    SAVED = 1  # a register is saved on the stack
    CALL = 2  # a call or jump through memory: r11 is free there (System V ABI, 3.2.1)


_DISPLACEMENT = struct.Struct("<i")
_ZERO = bytes(_DISPLACEMENT.size)


def _check_rewrite(site: Site, before: bytes, function: str) -> None:
    """Decode what will run instead of the instruction. It must be the same one, on the intended memory.

    Raises UnsupportedImageError if it is not.
    """
    code = rewrite(before, site.operand_at, site.scratch, site.offset)
    at = site.operand_at + 1
    same = len(before) == len(code) and _DISPLACEMENT.unpack_from(code, at) == (site.offset,)
    if same:  # the displacements are right; without them only a few hundred instructions differ
        old, new = before[:at] + _ZERO + before[at + 4 :], code[:at] + _ZERO + code[at + 4 :]
        difference = _difference(old, new, site.scratch)
    else:
        difference = decoder().difference(before, code, site.address, site.scratch, site.offset)
    if difference:
        raise UnsupportedImageError(
            f"the instruction {before.hex()} at {site.address:#x} in {function} "
            f"could not be rewritten: {code.hex()} {difference}"
        )


@lru_cache(1024)
def _difference(old: bytes, new: bytes, base: int) -> str:
    return decoder().difference(old, new, 0, base, 0)


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
            if isinstance(outcome, Site):
                _check_rewrite(outcome, reference.code, name)
                yield outcome
            else:
                refusals.append(outcome)


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


def judge(
    reference: Reference, region: tuple[int, int], function: str, number: int = 0
) -> Site | SiteRefusal:
    """Decide how an instruction that refers to the (address, size) region can be redirected.

    `function` and `number`: the name and the number of the symbol of its function.
    """
    begin, size = region
    code, offset = reference.code, reference.target - begin

    def refuse(reason: str) -> SiteRefusal:
        return SiteRefusal(reference.address, begin, function, code, reason)

    def site(tactic: Tactic, scratch: int, writes: bool, takes_address: bool, reads: bool) -> Site:
        return Site(
            reference.address,
            begin,
            offset,
            number,
            len(code),
            tactic,
            scratch,
            reference.modrm_at,
            writes,
            takes_address,
            reads,
        )

    if reference.branches:
        if len(code) != len(_CALL_THROUGH_MEMORY) + 4 or code[:1] != _CALL_THROUGH_MEMORY[:1]:
            return refuse("a branch of another kind than call or jmp through memory")
        return site(Tactic.CALL, _R11, False, False, True)
    if len(code) < _JUMP_SIZE:
        return refuse("shorter than a jump")
    if not reference.known:
        return refuse("not known well enough by the decoder")
    if _RSP in reference.registers:
        return refuse("uses the stack pointer")
    takes_address = reference.mnemonic == "lea"
    if not takes_address and (reference.memory_accesses != 1 or offset + reference.memory_bytes > size):
        return refuse("reaches past the storage")
    aligned = reference.memory_bytes == _VECTOR and begin % _VECTOR == 0  # as every copy of it is
    vector = reference.memory_bytes >= _VECTOR and _is_aligned(reference.mnemonic)
    if not takes_address and vector and not aligned:
        return refuse("may need storage that is aligned as LLVM's own is")
    scratch = _destination(reference)
    tactic = Tactic.DESTINATION
    if scratch is None:
        tactic = Tactic.SAVED
        scratch = next(n for n in (0, 1, 2, 6, 7, 3, 5) if n not in reference.registers)
    writes = not takes_address and reference.writes
    return site(tactic, scratch, writes, takes_address, takes_address or reference.reads)


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
