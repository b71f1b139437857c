"""Who reads options: the instructions of one function that refer to one region in one way."""

from __future__ import annotations

import bisect
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from optctx import _native
from optctx.arch.site import Site

__all__ = ["Reader", "Readers"]


@dataclass(frozen=True, slots=True)
class Reader:
    """`offset`: of the address that is taken, in bytes into the region in `slot`; 0 where none is."""

    slot: int
    function: str  # mangled
    takes_address: bool
    offset: int
    reads: bool  # otherwise these instructions only write

    def native(self) -> _native.Reader:
        return _native.Reader(self.slot, self.offset, self.takes_address, self.reads)


class Readers:
    """Every reader of an image, in the order of the code: words of one function are close together."""

    def __init__(self, sites: Iterable[Site], slots: dict[int, int]) -> None:
        """`slots`: by the address of a region."""
        self._readers: list[Reader] = []
        # A dictionary of these lives as long as the process and takes seven times as much.
        self._addresses: array[int] = array("Q")  # of sites, ascending
        self._indexes: array[int] = array("L")  # of their readers
        index: dict[tuple[object, ...], int] = {}
        for site in sorted(sites, key=lambda site: site.address):
            offset = site.offset if site.takes_address else 0
            key = (site.region, site.function, site.takes_address, offset, site.reads)
            found = index.setdefault(key, len(index))
            if found == len(self._readers):
                self._readers.append(
                    Reader(slots[site.region], site.function, site.takes_address, offset, site.reads)
                )
            self._addresses.append(site.address)
            self._indexes.append(found)

    def __iter__(self) -> Iterator[Reader]:
        return iter(self._readers)

    def of(self, site: Site) -> int | None:
        """Index of the reader that the site belongs to, if any."""
        at = bisect.bisect_left(self._addresses, site.address)
        found = at < len(self._addresses) and self._addresses[at] == site.address
        return self._indexes[at] if found else None
