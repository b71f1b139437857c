"""The interface of a processor: it finds instructions that refer to storage, and makes code to run instead.

Each processor has a folder here, all with the same file names. The native part is in native/arch. What it
finds are sites, which can be redirected, and refusals.
"""

from __future__ import annotations

import struct
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from optctx._native import Library, Uses, check_sites, group_uses, site_words


class Site(NamedTuple):
    """An instruction that refers to the byte at `offset` in the region that begins at `region`."""

    address: int
    code: bytes
    region: int
    offset: int
    function: str
    tactic: int  # how its trampoline gets a register; each processor has its own numbers
    scratch: int  # number of that register
    operand_at: int  # index in `code` of the byte that selects the operand
    writes: bool
    takes_address: bool
    reads: bool  # also if it takes the address, through which later code may read
    number: int = 0  # of the function's symbol


class SiteRefusal(NamedTuple):
    """An instruction that refers to a region and cannot be redirected."""

    address: int
    region: int
    function: str
    code: bytes
    reason: str


class NumberedFunctions(NamedTuple):
    """Functions of an image, by the numbers of their symbols. Names are read from its file on demand."""

    image: Library
    numbers: tuple[int, ...]

    def names(self) -> tuple[str, ...]:
        """Return their mangled names, each once."""
        symbols = map(self.image.numbered, self.numbers)
        return tuple(dict.fromkeys(symbol.name for symbol in symbols if symbol is not None))


class _Row(NamedTuple):
    """The fields of a packed site. `address` and `region` are in bytes from the image's base."""

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
_ADDRESSES = 1 << 64  # of which options on the heap may be before the library


def _sorted(rows: list[bytes]) -> list[bytes]:
    return sorted(rows, key=lambda row: int.from_bytes(row[:8], "little"))  # by address


class Sites:
    """Sites of one image, in order of address. Iterating makes `Site` objects.

    A site takes 32 bytes here, because thousands of them live as long as the process.
    """

    def __init__(self, image: Library, packed: bytes) -> None:
        """Take `packed` from other Sites of the same library.

        Raises ValueError for bytes that are not whole rows.
        """
        if len(packed) % _PACKED.size:
            raise ValueError(f"expected rows of {_PACKED.size} bytes, found {len(packed)} bytes")
        self.image = image
        self.packed = packed

    @classmethod
    def of(cls, image: Library, sites: Iterable[Site]) -> Sites:
        """Pack sites, which can be in any order. Iterates over them once."""
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
        """Raise MisfitError if the library's file does not have these instructions.

        Does not check that instructions begin at these addresses, or that no site is missing.
        """
        check_sites(self.image, self.packed)

    def __len__(self) -> int:
        return len(self.packed) // _PACKED.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sites) and self.packed == other.packed

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[Site]:
        return map(self._site, self._rows())

    def where(self, keep: Callable[[Site], bool], regions: Container[int] | None = None) -> Sites:
        """Drop the sites for which `keep` is false.

        `regions`: addresses of the regions whose sites `keep` judges; None for all.
        """
        base = self.image.base
        return self._only(
            lambda row: (regions is not None and row[1] + base not in regions) or keep(self._site(_Row(*row)))
        )

    def of_regions(self, regions: Container[int]) -> Sites:
        """Return the sites that refer to one of the regions (addresses)."""
        base = self.image.base
        return self._only(lambda row: row[1] + base in regions)

    def _only(self, keep: Callable[[tuple[Any, ...]], bool]) -> Sites:
        size, rows = _PACKED.size, enumerate(_PACKED.iter_unpack(self.packed))
        kept = (self.packed[at * size : (at + 1) * size] for at, row in rows if keep(row))
        return Sites(self.image, b"".join(kept))

    def taking_addresses(self) -> list[Site]:
        """Return the sites that take an address."""
        return [self._site(row) for row in self._rows() if row.uses & _TAKES_ADDRESS]

    def counts(self) -> dict[int, int]:
        """Count the sites that refer to each region, by its address."""
        return Counter(row.region + self.image.base for row in self._rows())

    def uses(self) -> dict[int, Uses]:
        """Tell, by region, what its sites do with it."""
        return group_uses(self.packed, self.image.base)

    def words(self, slots: Mapping[int, int], readers: array[int], first: int) -> tuple[array[int], bytes]:
        """Return, for each site, its word of the view, and whether that leads to an address that it takes.

        `slots`: by region (address). `readers`: the index of each site's reader, or NO_READER; `first`: the
        word of the first reader. What LLVM reports through has no reader: it is replaced by slot while values
        are parsed.
        """
        base = self.image.base
        places = {(region - base) % _ADDRESSES: slot for region, slot in slots.items()}
        words, loads = site_words(self.packed, places, readers.tobytes(), first)
        return array("I", words), loads

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


class CannotDecodeError(Exception):
    """The processor is unknown, no decoder is installed, or the decoder does not know an instruction."""


class Entrance(NamedTuple):
    """One way into a function: a direct call or jump at `address`, as in the library's file, or a pointer."""

    address: int
    target: int
    code: bytes = b""  # empty: a pointer
    is_jump: bool = False  # a tail call: nothing returns here


class FunctionEntrance(NamedTuple):
    """The instruction at which a function can be redirected, whichever code calls it.

    `saved`: the registers that the function has pushed before that instruction, in order. `reserved`: the
    bytes of stack that it has reserved below them.
    """

    address: int
    code: bytes
    saved: tuple[int, ...]
    reserved: int


class CodeReferences(NamedTuple):
    """References of run-time code to storage: to the spans, and (`accesses`) to the other spans.

    `accesses`: (address, bytes) of each, redirectable or not.
    """

    sites: Sites
    refusals: list[SiteRefusal]
    accesses: list[tuple[int, int]]


class Processor(Protocol):
    """Every function may raise CannotDecodeError. Spans are (address, bytes), sorted and disjoint."""

    @property
    def decoder_package(self) -> str:
        """The package that decodes."""

    def find_references_to(
        self, image: Library, spans: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]
    ) -> CodeReferences:
        """Find every run-time reference into the spans, and the accesses at or in the `others`."""

    def find_targets(
        self, image: Library, spans: Sequence[tuple[int, int]], functions: Iterable[int]
    ) -> list[tuple[int, int]]:
        """Find (function, address in the spans that it refers to). `functions`: numbers of their symbols."""

    def find_branches(self, image: Library, targets: Mapping[int, str]) -> Iterable[Entrance]:
        """Find every branch to one of the targets, in functions whose names have the right prefix.

        `targets`: address -> prefix of the names of the functions whose branches count.
        """

    def tactic_name(self, tactic: int) -> str:
        """Return the name of a tactic, for reports."""

    def thunk(
        self, target: int, entry: int, before: int, after: int, skip_answer: int, switch: int = 0
    ) -> bytes:
        """Make position-independent code that runs instead of `target`.

        It calls `before(entry, arguments)`, which may change the six integer arguments. If the answer is
        `skip_answer`, the code returns the result that `before` has put behind the arguments. Otherwise it
        calls `target`, then `after(answer)` unless the answer is 0, and returns the result of `target`.
        `switch`: the address of a byte; while that is 0, `target` runs as if nothing were there.
        """

    def passing_thunk(self, target: int, entry: int, passing: int) -> bytes:
        """Make code that calls `passing(entry, arguments)`, which may change them, and jumps to `target`."""

    def register_of(self, words: Sequence[int]) -> int:
        """Return which of the integer arguments a function has as its last parameter.

        `words`: sizes of all parameters up to that one, of integers, pointers and structs of them, in words.
        Raises ValueError if it is in memory.
        """

    def branch_to(self, address: int, *, is_jump: bool) -> bytes:
        """Make a call of an absolute address, or a jump to it."""

    def find_entrance(self, image: Library, function: int) -> FunctionEntrance | None:
        """Find where this function can be redirected. Returns None if it does not begin as expected."""

    def entrance_code(self, entrance: FunctionEntrance, entry: int, before: int) -> bytes:
        """Make code to run instead of the instruction at the entrance, without the jump back.

        It calls `before(entry, arguments, stack)`. `arguments` points at the six integer arguments, with room
        for a result behind them, and `stack` at the return address. If the answer is not 0, the function
        returns that result. Otherwise the function runs.
        """
