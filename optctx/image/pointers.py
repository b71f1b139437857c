"""Pointers to options in LLVM's own data: past them, code reaches an option that no instruction names."""

from __future__ import annotations

from dataclasses import dataclass

from optctx._native import Image, Span, find_data_pointers
from optctx.arch import processor

__all__ = ["PointerTable", "find_pointers"]

_POINTER = 8  # bytes


@dataclass(frozen=True)
class PointerTable:
    """A constant table with pointers to options: (byte in the table, address that it holds)."""

    address: int
    size: int
    pointers: tuple[tuple[int, int], ...]


def find_pointers(image: Image, spans: list[tuple[int, int]]) -> tuple[list[PointerTable], list[int]]:
    """Pointers in the image's data that lead into the spans: (named tables, targets of those without a name).

    Pointers that only static initialisers read are left out: the linker's constant pools are full of them.
    """
    tables: dict[tuple[int, int], list[tuple[int, int]]] = {}
    nameless = []
    for at, target in find_data_pointers(image, [Span(begin, size) for begin, size in spans]):
        symbol = image.object_at(at)
        if symbol is not None:
            tables.setdefault((symbol.address, symbol.size), []).append((at - symbol.address, target))
        else:
            nameless.append((at, target))
    read = _read(image, [at for at, _ in nameless])
    found = [PointerTable(*place, tuple(held)) for place, held in sorted(tables.items())]
    return found, [target for at, target in nameless if at in read]


def _read(image: Image, pointers: list[int]) -> set[int]:
    """Those of the `pointers` (addresses) that run-time code refers to, alone or with their neighbours."""
    reach = 64  # bytes of the longest vector load
    spans: list[tuple[int, int]] = []
    for at in sorted(pointers):
        begin = max(at - reach, sum(spans[-1]) if spans else 0)
        spans.append((begin, at + _POINTER - begin))
    accesses = processor().find_accesses(image, spans)
    return {
        at
        for at in pointers
        if any(address < at + _POINTER and address + max(size, 1) > at for address, size in accesses)
    }
