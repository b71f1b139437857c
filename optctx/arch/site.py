"""One instruction that refers to an option's storage, and whether it can be redirected."""

from __future__ import annotations

import struct
from collections.abc import Callable, Container, Iterable, Iterator
from typing import NamedTuple, overload

from optctx._native import Image, check_sites

__all__ = ["Functions", "Site", "SiteRefusal", "Sites", "Uses"]


class Site(NamedTuple):
    """One instruction that refers to the region that begins at `region`, `offset` bytes into it."""

    address: int
    code: bytes
    region: int
    offset: int
    function: str
    tactic: int  # how its trampoline gets a register: a number of the processor's folder
    scratch: int  # number of that register
    operand_at: int  # index, in `code`, of what names the operand
    writes: bool
    takes_address: bool
    reads: bool  # or takes the address, for whatever comes later
    number: int = 0  # of the function's symbol


class SiteRefusal(NamedTuple):
    """An instruction that refers to a region and cannot be redirected."""

    address: int
    region: int
    function: str
    code: bytes
    reason: str


class Uses(NamedTuple):
    """What the sites of one region do with it. `functions`: numbers of symbols, in the order of the code."""

    writes: bool
    writes_head: bool  # at the first byte: a constructor does
    takes_address: bool
    functions: tuple[int, ...]


class Functions(NamedTuple):
    """Functions of an image by the numbers of their symbols: their names stay in its file until asked for."""

    image: Image
    numbers: tuple[int, ...]

    def names(self) -> tuple[str, ...]:
        """Mangled, each once."""
        symbols = map(self.image.numbered, self.numbers)
        return tuple(dict.fromkeys(symbol.name for symbol in symbols if symbol is not None))


class _Row(NamedTuple):
    """As a site is packed: `address` and `region` in bytes from the image's base."""

    address: int
    region: int
    offset: int
    function: int
    length: int
    tactic: int
    scratch: int
    operand_at: int
    uses: int


_PACKED = struct.Struct("<QQiIBBBBB3x")  # arch::PackedSite of native/arch/trampolines.hpp
_WRITES, _TAKES_ADDRESS, _READS = 1, 2, 4


def _sorted(rows: list[bytes]) -> list[bytes]:
    return sorted(rows, key=lambda row: int.from_bytes(row[:8], "little"))  # by address


class Sites:
    """Sites of one image by address, 32 bytes each: thousands of them live as long as the process.

    Iterating and indexing make a `Site` each time.
    """

    def __init__(self, image: Image, packed: bytes) -> None:
        """`packed`: what `packed` of others for the same library is.

        Raises ValueError for bytes that are no whole rows.
        """
        if len(packed) % _PACKED.size:
            raise ValueError(f"expected rows of {_PACKED.size} bytes, found {len(packed)} bytes")
        self.image = image
        self.packed = packed

    @classmethod
    def of(cls, image: Image, sites: Iterable[Site]) -> Sites:
        """`sites`: in any order, each looked at once."""
        base = image.base
        rows: list[bytes] = [
            _PACKED.pack(
                site.address - base,
                site.region - base,
                site.offset,
                site.number,
                len(site.code),
                site.tactic,
                site.scratch,
                site.operand_at,
                site.writes * _WRITES | site.takes_address * _TAKES_ADDRESS | site.reads * _READS,
            )
            for site in sites
        ]
        return cls(image, b"".join(_sorted(rows)))

    def check(self) -> None:
        """Raise MisfitError if the library's file has no such instructions.

        Where instructions begin, and whether sites are missing, does not show there.
        """
        check_sites(self.image, self.packed)

    def __len__(self) -> int:
        return len(self.packed) // _PACKED.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sites) and self.packed == other.packed

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Site]:
        return map(self._site, self._rows())

    @overload
    def __getitem__(self, index: int) -> Site: ...
    @overload
    def __getitem__(self, index: slice) -> list[Site]: ...
    def __getitem__(self, index: int | slice) -> Site | list[Site]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(f"expected an index of {len(self)} sites, found {index}")
        return self._site(_Row(*_PACKED.unpack_from(self.packed, index % len(self) * _PACKED.size)))

    def where(self, keep: Callable[[Site], bool], regions: Container[int] | None = None) -> Sites:
        """Without those of the regions (addresses; None: of all) for which `keep` is false."""
        size, base = _PACKED.size, self.image.base
        kept = [
            self.packed[at * size : (at + 1) * size]
            for at, row in enumerate(_PACKED.iter_unpack(self.packed))
            if (regions is not None and row[1] + base not in regions) or keep(self._site(_Row(*row)))
        ]
        return Sites(self.image, b"".join(kept))

    def of_regions(self, regions: Container[int]) -> Sites:
        """Those that refer to one of the regions (addresses)."""
        size, base = _PACKED.size, self.image.base
        kept = [
            self.packed[at * size : (at + 1) * size]
            for at, row in enumerate(_PACKED.iter_unpack(self.packed))
            if row[1] + base in regions
        ]
        return Sites(self.image, b"".join(kept))

    def taking_addresses(self) -> list[Site]:
        """Those that take an address."""
        rows = map(_Row._make, _PACKED.iter_unpack(self.packed))
        return [self._site(row) for row in rows if row.uses & _TAKES_ADDRESS]

    def counts(self) -> dict[int, int]:
        """By region, how many refer to it."""
        base = self.image.base
        found: dict[int, int] = {}
        for row in _PACKED.iter_unpack(self.packed):
            found[row[1] + base] = found.get(row[1] + base, 0) + 1
        return found

    def uses(self) -> dict[int, Uses]:
        """By region, what its sites do with it."""
        found: dict[int, tuple[int, dict[int, None]]] = {}
        head = 8  # beside the bits of a row
        for _, region, offset, function, _, _, _, _, uses in _PACKED.iter_unpack(self.packed):
            if uses & _WRITES and not offset:
                uses |= head
            known = found.get(region)
            if known is None:
                found[region] = uses, {function: None}
            else:
                known[1][function] = None
                if uses & ~known[0]:
                    found[region] = known[0] | uses, known[1]
        base = self.image.base
        return {
            region + base: Uses(
                bool(uses & _WRITES), bool(uses & head), bool(uses & _TAKES_ADDRESS), tuple(functions)
            )
            for region, (uses, functions) in found.items()
        }

    def regions(self) -> Iterator[tuple[int, bool]]:
        """(region, whether an address in it is taken) of each."""
        base = self.image.base
        for row in _PACKED.iter_unpack(self.packed):
            yield row[1] + base, bool(row[8] & _TAKES_ADDRESS)

    def _rows(self) -> Iterator[_Row]:
        return map(_Row._make, _PACKED.iter_unpack(self.packed))

    def _site(self, row: _Row) -> Site:
        base, symbol = self.image.base, self.image.numbered(row.function)
        return Site(
            row.address + base,
            self.image.initial_bytes(row.address + base, row.length),
            row.region + base,
            row.offset,
            symbol.name if symbol is not None else "",
            row.tactic,
            row.scratch,
            row.operand_at,
            bool(row.uses & _WRITES),
            bool(row.uses & _TAKES_ADDRESS),
            bool(row.uses & _READS),
            row.function,
        )
