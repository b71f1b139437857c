"""Decodes the code that runs instead of a redirected instruction, to check it.

native/arch/x86_64/trampolines.cpp makes that code.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from optctx._native import rewrite
from optctx.arch.site import Site
from optctx.arch.x86_64.decoding import decoder
from optctx.arch.x86_64.tactics import Tactic
from optctx.errors import UnsupportedImageError

__all__ = ["access_at", "calls", "check_rewrite", "saves_scratch", "trampoline_size"]

_SKIP_RED_ZONE_AND_PUSH = 6  # bytes, in a trampoline that saves a register
_LOAD_VIEW_AND_WORD = 16
_POP_AND_BACK = 9
_DISPLACEMENT = struct.Struct("<i")
_ZERO = bytes(_DISPLACEMENT.size)


def access_at(site: Site) -> int:
    """See `Processor`."""
    return _LOAD_VIEW_AND_WORD + (_SKIP_RED_ZONE_AND_PUSH if site.tactic == Tactic.SAVED else 0)


def saves_scratch(site: Site) -> bool:
    """See `Processor`."""
    return site.tactic == Tactic.SAVED


def calls(site: Site) -> bool:
    """See `Processor`."""
    return site.tactic == Tactic.CALL


def trampoline_size(site: Site) -> int:
    """See `Processor`."""
    code = rewrite(site.code, site.operand_at, site.scratch, site.offset)
    return access_at(site) + len(code) + (_POP_AND_BACK if saves_scratch(site) else 0)


def check_rewrite(site: Site) -> None:
    """Decode the instruction that will run instead. It must be the same one, on the intended memory.

    Raises UnsupportedImageError if it is not.
    """
    before = site.code
    code = rewrite(before, site.operand_at, site.scratch, site.offset)
    at = site.operand_at + 1
    same = len(before) == len(code) and _DISPLACEMENT.unpack_from(code, at) == (site.offset,)
    if same:  # the displacements are right; without them only a few hundred instructions differ
        old, new = before[:at] + _ZERO + before[at + 4 :], code[:at] + _ZERO + code[at + 4 :]
        difference = _difference(decoder().name, old, new, site.scratch)
    else:
        difference = decoder().difference(before, code, site.address, site.scratch, site.offset)
    if difference:
        raise UnsupportedImageError(
            f"the instruction {before.hex()} at {site.address:#x} in {site.function} "
            f"could not be rewritten: {code.hex()} {difference}"
        )


@lru_cache(1024)
def _difference(name: str, old: bytes, new: bytes, base: int) -> str:
    return decoder().difference(old, new, 0, base, 0)
