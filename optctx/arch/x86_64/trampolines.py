"""The machine code that runs instead of a redirected instruction (Intel SDM vol. 2, chapter 2).

    [lea rsp, [rsp-128]; push r]        only where no register is free; 128 bytes: the red zone
    mov  r, fs:[thread's view]
    mov  r, [r + word * 8]              address of this thread's storage for the region
    <the instruction, reading [r + offset] instead of [rip + displacement]>
    [pop r; lea rsp, [rsp+128]]
    jmp  back

An instruction that takes an address (lea) becomes a load of it, `mov destination, [r]`,
where the word has readers: so that every use of such a word touches what it points at.

None of the added instructions changes the flags or touches memory outside the stack and the view.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from optctx.arch.site import Site
from optctx.arch.x86_64.decoding import decoder
from optctx.arch.x86_64.sites import Tactic
from optctx.errors import UnsupportedImageError

__all__ = ["access_at", "trampoline"]

_WORD = 8  # bytes
_SKIP_RED_ZONE = bytes.fromhex("488d642480")  # lea rsp, [rsp-128]
_BACK_TO_STACK = bytes.fromhex("488da42480000000")  # lea rsp, [rsp+128]
_REX_W, _REX_R, _REX_B = 0x48, 0x04, 0x01


def trampoline(site: Site, word: int, loads_address: bool, thread_offset: int) -> bytes:
    """Code for `site`, without the jump back. `thread_offset`: of the view pointer from fs, in bytes.

    `word`: of the view. It leads to the storage of the site's region, or with `loads_address`, for a site
    that takes an address, to that address.
    """
    scratch = site.scratch
    code = _prologue(site) + _load_view(scratch, thread_offset) + _load_word(scratch, word)
    if site.tactic == Tactic.CALL:
        return code + _branch(site)
    code += _load_address(site) if loads_address else _rewrite(site)
    if site.tactic == Tactic.SAVED:
        code += bytes([0x58 + scratch]) + _BACK_TO_STACK
    return code


def access_at(site: Site) -> int:
    """Bytes from the start of a trampoline to the instruction that follows the view's word."""
    return len(_prologue(site) + _load_view(site.scratch, 0) + _load_word(site.scratch, 0))


def _prologue(site: Site) -> bytes:
    return _SKIP_RED_ZONE + bytes([0x50 + site.scratch]) if site.tactic == Tactic.SAVED else b""


def _load_view(register: int, thread_offset: int) -> bytes:
    """mov register, fs:[thread_offset]"""
    rex = _REX_W | (_REX_R if register >= 8 else 0)
    return struct.pack("<BBBBBi", 0x64, rex, 0x8B, 0x04 | (register & 7) << 3, 0x25, thread_offset)


def _load_word(register: int, word: int) -> bytes:
    """mov register, [register + word * 8]"""
    rex = _REX_W | (_REX_R | _REX_B if register >= 8 else 0)
    modrm = 0x80 | (register & 7) << 3 | (register & 7)
    return struct.pack("<BBBi", rex, 0x8B, modrm, word * _WORD)


def _branch(site: Site) -> bytes:
    """call or jmp [r11 + offset]: one byte longer, for the prefix that r11 needs.

    A call returns into the trampoline, and from there to the instruction after the original one.
    """
    modrm = site.code[site.operand_at] & 0x38 | 0x80 | (site.scratch & 7)
    code = struct.pack("<BBBi", 0x40 | _REX_B, site.code[0], modrm, site.offset)
    _check(site, code)
    return code


def _load_address(site: Site) -> bytes:
    """mov destination, [scratch], where the instruction was lea destination, [rip + displacement]."""
    lea = decoder().decode(site.code, site.address).reference
    if lea is None or lea.mnemonic != "lea" or lea.first is None or lea.first_bytes != _WORD:
        raise UnsupportedImageError(
            f"expected lea of 64 bits at {site.address:#x} in {site.function}, found {site.code.hex()}"
        )
    destination = lea.first
    rex = _REX_W | (_REX_R if destination >= 8 else 0) | (_REX_B if site.scratch >= 8 else 0)
    modrm = (
        0x40 | (destination & 7) << 3 | (site.scratch & 7)
    )  # with a displacement of 8 bits, which rbp needs
    return bytes([rex, 0x8B, modrm, 0])


def _rewrite(site: Site) -> bytes:
    """The instruction with [scratch + offset] for its memory operand: same length, same prefixes."""
    code = bytearray(site.code)
    at = site.operand_at
    code[at] = code[at] & 0x38 | 0x80 | (site.scratch & 7)
    struct.pack_into("<i", code, at + 1, site.offset)
    _set_base_extension(code, at, site.scratch >= 8)
    _check(site, bytes(code))
    return bytes(code)


def _set_base_extension(code: bytearray, modrm_at: int, extended: bool) -> None:
    """The bit that extends the base register: REX.B, or its inverse in VEX and EVEX."""
    prefix = next(i for i, byte in enumerate(code) if byte not in _LEGACY_PREFIXES)
    byte = code[prefix]
    if 0x40 <= byte <= 0x4F:
        code[prefix] = byte & ~_REX_B | (_REX_B if extended else 0)
    elif byte in (0xC4, 0x62) and prefix + 1 < modrm_at - 1:
        code[prefix + 1] = code[prefix + 1] & ~0x20 | (0 if extended else 0x20)


@lru_cache(1024)
def _difference(name: str, old: bytes, new: bytes, base: int) -> str:
    return decoder().difference(old, new, 0, base, 0)


_LEGACY_PREFIXES = frozenset(bytes.fromhex("66f2f32e3626643e65f0"))


def _check(site: Site, code: bytes) -> None:
    """Decodes what was written: the same instruction, on the memory that was meant."""
    at = site.operand_at + 1
    same = len(site.code) == len(code) and struct.unpack_from("<i", code, at) == (site.offset,)
    if same:  # then the displacements say nothing more, and without them some hundred instructions are left
        old, new = (each[:at] + bytes(4) + each[at + 4 :] for each in (site.code, code))
        difference = _difference(decoder().name, old, new, site.scratch)
    else:
        difference = decoder().difference(site.code, code, site.address, site.scratch, site.offset)
    if difference:
        raise UnsupportedImageError(
            f"the instruction {site.code.hex()} at {site.address:#x} in {site.function} "
            f"could not be rewritten: {code.hex()} {difference}"
        )
