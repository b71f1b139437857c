"""Finds direct calls of functions, and jumps to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from optctx._native import Library
from optctx._native import find_branches as find_candidates
from optctx.arch.processor import Branch
from optctx.arch.x86_64.decoder import decoder
from optctx.arch.x86_64.decoding import LONGEST

__all__ = ["find_branches"]

_SIZE = 5  # bytes of call rel32 and jmp rel32
_JUMP = b"\xe9"


def find_branches(image: Library, targets: Mapping[int, str]) -> Iterator[Branch]:
    """See `Processor`. Each function is decoded from its start up to the candidates."""
    for address, target in find_candidates(image, list(targets)):
        function = image.function_at(address)
        if function is None:
            continue  # between functions: padding or a table
        if not function.name.startswith(targets[target]):
            continue
        begin, last = function.address, address + _SIZE - 1
        size = min(max(function.size, last + 1 - begin), last + LONGEST - begin)
        code = image.initial_bytes(begin, size)
        if decoder().start_over(code, begin, last) == address:
            found = code[address - begin : last + 1 - begin]
            yield Branch(address, target, found, found[:1] == _JUMP)
