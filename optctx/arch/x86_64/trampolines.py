"""What a decoder says of the code that runs instead of a redirected instruction.

native/arch/x86_64/trampolines.cpp makes it.
"""

from __future__ import annotations

import struct
from functools import lru_cache

from optctx._native import rewrite
from optctx.arch.site import Site
from optctx.arch.x86_64.decoding import decoder
from optctx.arch.x86_64.tactics import Tactic
from optctx.errors import UnsupportedImageError

__all__ = ["access_at", "check_rewrite"]

_SKIP_RED_ZONE_AND_PUSH = 6  # bytes, of a trampoline that keeps a register
_LOAD_VIEW_AND_WORD = 16


def access_at(site: Site) -> int:
    """Bytes from the start of a trampoline to the instruction that follows the view's word."""
    return _LOAD_VIEW_AND_WORD + (_SKIP_RED_ZONE_AND_PUSH if site.tactic == Tactic.SAVED else 0)


def check_rewrite(site: Site) -> None:
    """Decode what is to run instead: the same instruction, on the memory that is meant.

    Raises UnsupportedImageError.
    """
    code = rewrite(site.code, site.operand_at, site.scratch, site.offset)
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


@lru_cache(1024)
def _difference(name: str, old: bytes, new: bytes, base: int) -> str:
    return decoder().difference(old, new, 0, base, 0)
