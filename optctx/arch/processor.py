"""The interface of a processor: it finds instructions that refer to storage, and makes code to run instead.

Each processor has a folder here, all with the same file names. The native part is in native/arch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from optctx._native import Image
from optctx.arch.site import Site, SiteRefusal, Sites

__all__ = ["Branch", "CannotDecodeError", "CodeReferences", "FunctionEntrance", "Processor"]


class CannotDecodeError(Exception):
    """The processor is unknown, no decoder is installed, or the decoder does not know an instruction."""


class Branch(NamedTuple):
    """A direct call of a function, or (`is_jump`) a tail call, as in the library's file."""

    address: int
    target: int
    code: bytes
    is_jump: bool


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
    def name(self) -> str:
        """The name that `platform.machine()` returns."""

    @property
    def decoder_packages(self) -> tuple[str, ...]:
        """The packages that can decode. The first one that is installed is used."""

    def decoder_name(self) -> str:
        """The package that decodes in this process."""

    def find_sites(
        self, image: Image, spans: Sequence[tuple[int, int]]
    ) -> tuple[list[Site], list[SiteRefusal]]:
        """Every run-time reference into the spans."""

    def find_references_to(
        self, image: Image, spans: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]
    ) -> CodeReferences:
        """As `find_sites`, with the accesses at or in the `others`."""

    def find_targets(
        self, image: Image, spans: Sequence[tuple[int, int]], functions: Iterable[int]
    ) -> list[tuple[int, int]]:
        """(function, address in the spans that it refers to). `functions`: numbers of their symbols."""

    def find_branches(self, image: Image, targets: Mapping[int, str]) -> Iterable[Branch]:
        """Every branch to one of the targets, in functions whose names have the right prefix.

        `targets`: address -> prefix of the names of the functions whose branches count.
        """

    def tactic_name(self, tactic: int) -> str:
        """The name of a tactic, for reports."""

    def access_at(self, site: Site) -> int:
        """Bytes from the start of a trampoline to its instruction that uses the word of the view."""

    def saves_scratch(self, site: Site) -> bool:
        """Whether the site's trampoline has its register on the stack when it uses the word of the view."""

    def calls(self, site: Site) -> bool:
        """Whether the site calls or jumps through memory."""

    def trampoline_size(self, site: Site) -> int:
        """Bytes of the site's trampoline, without the jump back."""

    def thunk(
        self, target: int, entry: int, before: int, after: int, skip_answer: int, switch: int = 0
    ) -> bytes:
        """Position-independent code that runs instead of `target`.

        It calls `before(entry, arguments)`, which may change the six integer arguments. If the answer is
        `skip_answer`, the code returns the result that `before` has put behind the arguments. Otherwise it
        calls `target`, then `after(answer)` unless the answer is 0, and returns the result of `target`.
        `switch`: the address of a byte; while that is 0, `target` runs as if nothing were there.
        """

    def passing_thunk(self, target: int, entry: int, passing: int) -> bytes:
        """Code that calls `passing(entry, arguments)`, which may change them, and jumps to `target`."""

    def branch_to(self, address: int, *, is_jump: bool) -> bytes:
        """A call of an absolute address, or a jump to it."""

    def find_entrance(self, image: Image, function: int) -> FunctionEntrance | None:
        """Where the function at this address can be redirected. None if it does not begin as expected."""

    def entrance_code(self, entrance: FunctionEntrance, entry: int, before: int) -> bytes:
        """Code to run instead of the instruction at the entrance, without the jump back.

        It calls `before(entry, arguments, stack)`. `arguments` points at the six integer arguments, with room
        for a result behind them, and `stack` at the return address. If the answer is not 0, the function
        returns that result. Otherwise the function runs.
        """
