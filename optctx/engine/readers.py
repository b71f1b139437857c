"""Who reads options: the instructions of one function that refer to one region in one way."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from optctx import _native
from optctx._native import Image
from optctx.arch.site import Sites

__all__ = ["NO_READER", "Reader", "Readers"]

NO_READER = 0xFFFFFFFF
_TAKES_ADDRESS, _READS = 1, 2


@dataclass(frozen=True, slots=True)
class Reader:
    """`offset`: of the address that is taken, in bytes into the region in `slot`; 0 where none is."""

    slot: int
    function: str  # mangled
    takes_address: bool
    offset: int
    reads: bool  # otherwise these instructions only write


class Readers:
    """Every reader of an image, in the order of the code: words of one function are close together.

    Thousands live as long as the process: they are kept in columns.
    """

    def __init__(self, image: Image, sites: Sites, slots: Mapping[int, int]) -> None:
        """`slots`: by the address of a region; sites of other regions have no reader."""
        self._image = image
        self._slots, self._functions = array("L"), array("L")
        self._offsets, self._uses = array("q"), bytearray()
        self.by_site = array("L")  # index of the reader of each of the sites, or NO_READER
        known: dict[tuple[int, int, int, bool, bool], int] = {}
        for key in sites.readings():
            region, function, offset, takes_address, reads = key
            slot = slots.get(region)
            if slot is None:
                self.by_site.append(NO_READER)
                continue
            index = known.setdefault(key, len(known))
            if index == len(self._slots):
                self._slots.append(slot)
                self._functions.append(function)
                self._offsets.append(offset)
                self._uses.append(takes_address * _TAKES_ADDRESS | reads * _READS)
            self.by_site.append(index)

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[Reader]:
        for slot, number, offset, uses in zip(
            self._slots, self._functions, self._offsets, self._uses, strict=True
        ):
            function = self._image.numbered(number)
            name = function.name if function is not None else ""
            yield Reader(slot, name, bool(uses & _TAKES_ADDRESS), offset, bool(uses & _READS))

    def native(self) -> list[_native.Reader]:
        """For `Space.redirected`."""
        columns = zip(self._slots, self._offsets, self._uses, strict=True)
        return [
            _native.Reader(slot, offset, bool(uses & _TAKES_ADDRESS), bool(uses & _READS))
            for slot, offset, uses in columns
        ]
