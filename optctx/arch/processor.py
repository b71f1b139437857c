"""The interface of a processor: it finds instructions that refer to storage, and makes code to run instead.

Each processor has a folder here, all with the same file names. The native part is in native/arch. What it
finds are sites, which can be redirected, and refusals.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from optctx._native import Library, Sites


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
        return tuple(dict.fromkeys(filter(None, map(self.image.name_of, self.numbers))))


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

    def thunk(self, target: int, entry: int, before: int, after: int, skip_answer: int, switch: int) -> bytes:
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
