"""What the engine needs of a processor: the instructions that refer to storage, and code to run instead.

Each processor has a folder here, all with the same file names; native/arch has the native part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from optctx._native import Image
from optctx.arch.site import Site, SiteRefusal, Sites

__all__ = ["Branch", "CannotDecodeError", "CodeReferences", "FunctionEntrance", "Processor"]


class CannotDecodeError(Exception):
    """Instructions are of an unknown processor, no decoder is installed, or it does not know one of them."""


class Branch(NamedTuple):
    """A direct call of a function, or (`is_jump`) a tail call, as the library's file has it."""

    address: int
    target: int
    code: bytes
    is_jump: bool


class FunctionEntrance(NamedTuple):
    """The instruction at which a function can be redirected wherever it is entered.

    `saved`: the registers that the function has put on the stack before it, outermost first. `reserved`:
    bytes below them.
    """

    address: int
    code: bytes
    saved: tuple[int, ...]
    reserved: int


class CodeReferences(NamedTuple):
    """What run-time code refers to. `accesses`: (address, bytes) of each, redirectable or not."""

    sites: Sites
    refusals: list[SiteRefusal]
    accesses: list[tuple[int, int]]


class Processor(Protocol):
    """Every function may raise CannotDecodeError. Spans are (address, bytes), sorted and disjoint."""

    @property
    def name(self) -> str:
        """As `platform.machine()` has it."""

    @property
    def decoder_packages(self) -> tuple[str, ...]:
        """Those that can decode: the first that is installed does."""

    def decoder_name(self) -> str:
        """The package that decodes in this process."""

    def find_sites(
        self, image: Image, spans: Sequence[tuple[int, int]]
    ) -> tuple[list[Site], list[SiteRefusal]]:
        """Every run-time reference into the spans."""

    def find_references_to(
        self, image: Image, spans: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]
    ) -> CodeReferences:
        """The same, and the accesses at or in the `others`."""

    def find_targets(
        self, image: Image, spans: Sequence[tuple[int, int]], functions: Iterable[int]
    ) -> list[tuple[int, int]]:
        """(function, address in the spans that it refers to) for functions of these numbers of symbols."""

    def find_branches(self, image: Image, targets: Mapping[int, str]) -> Iterable[Branch]:
        """Every branch to one of the targets: address -> how the names start of the functions whose branches
        count.
        """

    def tactic_name(self, tactic: int) -> str:
        """For reports."""

    def access_at(self, site: Site) -> int:
        """Bytes from the start of a trampoline to the instruction that follows the view's word."""

    def thunk(self, target: int, entry: int, before: int, after: int, skip_answer: int) -> bytes:
        """Code that calls `before(entry, arguments)`, `target` unless the answer was `skip_answer`, and
        `after(answer)` unless that was 0. It does not matter where the code is put.
        """

    def passing_thunk(self, target: int, entry: int, passing: int) -> bytes:
        """Code that calls `passing(entry, arguments)` and goes on to `target`, with what they are then."""

    def branch_to(self, address: int, *, is_jump: bool) -> bytes:
        """A call of an absolute address, or a jump there."""

    def find_entrance(self, image: Image, function: int) -> FunctionEntrance | None:
        """Where the function at this address can be redirected; None if it begins in another way."""

    def entrance_code(self, entrance: FunctionEntrance, entry: int, before: int) -> bytes:
        """Code for that instruction, without the jump back. It calls `before(entry, arguments, stack)` with
        the six integer arguments, followed by room for a result, and the address of the return address. If
        the answer is not 0, the function returns that result; otherwise it does its work.
        """
