"""Objects that end where others begin: an address there may mean either of them.

Compilers take the address past the end of an array where a loop over it ends (DataLayout::reset of LLVM 15
has an option there).
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from optctx._native import Image
from optctx.image.facts.types import GUARD

__all__ = ["objects_before"]


def objects_before(
    image: Image, spans: Sequence[tuple[int, int]], single: AbstractSet[int]
) -> dict[int, tuple[int, int]]:
    """Start of a span -> (address, size) of the object that ends there, if that may be an array.

    `single`: addresses of objects that are none.
    """
    known = dict(spans)
    before = {}
    for begin, _ in spans:
        symbol = image.object_at(begin - 1)
        if symbol is None or symbol.address + symbol.size != begin:
            continue
        if symbol.address in single or symbol.name.startswith(GUARD):
            continue
        if known.get(symbol.address, symbol.size) == symbol.size:
            before[begin] = (symbol.address, symbol.size)
    return before
