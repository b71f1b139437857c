"""What a processor's folder finds in code, and takes: sites can be redirected, refusals cannot.

The native part is in native/arch.
"""

from __future__ import annotations

from typing import NamedTuple

from optctx._native import Sites


class SiteRefusal(NamedTuple):
    """An instruction that refers to a region and cannot be redirected."""

    address: int
    region: int
    function: str
    code: bytes
    reason: str


class CannotDecodeError(Exception):
    """No decoder is installed, or it does not know an instruction."""


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
