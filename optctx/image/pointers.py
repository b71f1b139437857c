"""Pointers to options in LLVM's own data: past them, code reaches an option that no instruction names."""

from __future__ import annotations

from typing import NamedTuple

from optctx._native import Image, Span, find_data_pointers

__all__ = ["PointerTable", "Pointers", "find_pointers"]

_POINTER = 8  # bytes


class PointerTable(NamedTuple):
    """A constant table with pointers to options: (byte in the table, address that it holds)."""

    address: int
    size: int
    pointers: tuple[tuple[int, int], ...]


class Pointers(NamedTuple):
    """Pointers in the image's data that lead into spans. `nameless`: (address, target) of those in no object.

    Those that only static initialisers read do not matter: the linker's constant pools are full of them.
    """

    tables: list[PointerTable]
    nameless: list[tuple[int, int]]

    def windows(self) -> list[tuple[int, int]]:
        """(address, bytes): what code that reads a nameless pointer, or its neighbours with it, refers to."""
        reach = 64  # bytes of the longest vector load
        spans: list[tuple[int, int]] = []
        for at, _ in sorted(self.nameless):
            begin = max(at - reach, sum(spans[-1]) if spans else 0)
            spans.append((begin, at + _POINTER - begin))
        return spans

    def loose(self, accesses: list[tuple[int, int]]) -> list[int]:
        """Targets of the nameless pointers that one of the (address, bytes) accesses reads."""
        return [
            target
            for at, target in self.nameless
            if any(address < at + _POINTER and address + max(size, 1) > at for address, size in accesses)
        ]


def find_pointers(image: Image, spans: list[tuple[int, int]]) -> Pointers:
    """Those that lead into the spans."""
    tables: dict[tuple[int, int], list[tuple[int, int]]] = {}
    nameless = []
    for at, target in find_data_pointers(image, [Span(begin, size) for begin, size in spans]):
        symbol = image.object_at(at)
        if symbol is not None:
            tables.setdefault((symbol.address, symbol.size), []).append((at - symbol.address, target))
        else:
            nameless.append((at, target))
    return Pointers([PointerTable(*place, tuple(held)) for place, held in sorted(tables.items())], nameless)
