"""Who reads options: the instructions of one function that refer to one region in one way."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from optctx._native import Image, group_readers
from optctx.arch.processor import Sites

__all__ = ["NO_READER", "Reader", "Readers", "no_readers"]

NO_READER = 0xFFFFFFFF
_PACKED = struct.Struct("<IIiI")  # arch::PackedReader of native/arch/sites.hpp
_TAKES_ADDRESS, _READS = 2, 4
_ADDRESSES = 1 << 64  # of which options on the heap may be before the library


class Reader(NamedTuple):
    """`offset`: of the address that is taken, in bytes into the region in `slot`; 0 where none is."""

    slot: int
    function: str  # mangled
    takes_address: bool
    offset: int
    reads: bool  # otherwise these instructions only write


class Readers:
    """Every reader of an image, in the order of the code: words of one function are close together.

    Thousands live as long as the process, 16 bytes each. Iterating makes a `Reader` each time.
    """

    def __init__(self, image: Image | None, packed: bytes, by_site: array[int]) -> None:
        """`by_site`: index of the reader of each site, or NO_READER."""
        self._image, self._packed, self.by_site = image, packed, by_site

    @classmethod
    def of(cls, image: Image, sites: Sites, slots: Mapping[int, int]) -> Readers:
        """`slots`: by the address of a region; sites of other regions have no reader."""
        by_place = {(address - image.base) % _ADDRESSES: slot for address, slot in slots.items()}
        packed, of_site = group_readers(sites.packed, by_place)
        return cls(image, packed, array("I", of_site))

    def __len__(self) -> int:
        return len(self._packed) // _PACKED.size

    def __iter__(self) -> Iterator[Reader]:
        for slot, number, offset, uses in _PACKED.iter_unpack(self._packed):
            function = self._image.numbered(number) if self._image is not None else None
            name = function.name if function is not None else ""
            yield Reader(slot, name, bool(uses & _TAKES_ADDRESS), offset, bool(uses & _READS))

    @property
    def packed(self) -> bytes:
        """For `Space.redirected`."""
        return self._packed


def no_readers() -> Readers:
    """Of code that is left as it is."""
    return Readers(None, b"", array("I"))
