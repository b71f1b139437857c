"""Storage besides the options themselves that option values pass through on their way to LLVM's code."""

from __future__ import annotations

from typing import NamedTuple

from optctx._native import Image
from optctx.image.facts.state_beside import DEFAULTS, ONCE, PLAIN
from optctx.image.findings import findings_of

__all__ = ["StateBeside", "find_state_beside"]

_POINTER = 8  # bytes


class StateBeside(NamedTuple):
    """A variable of LLVM's into which compilations copy what options say.

    From byte `initial_at` on, `initial` is what it holds before anything has run. `serves`: options that
    cannot be scoped unless this variable is.
    """

    address: int
    size: int
    initial_at: int
    initial: bytes
    serves: tuple[str, ...]


def find_state_beside(image: Image) -> tuple[list[StateBeside], set[str]]:
    """(the variables found, names of options that lack one of theirs)."""
    findings = findings_of(image)
    found: list[StateBeside] = []
    missing: set[str] = set()
    whole: list[tuple[str, tuple[str, ...]]] = [*ONCE.items(), *((name, ()) for name in PLAIN)]
    parts = [(name, serves, _POINTER, _POINTER) for name, serves in DEFAULTS.items()]
    for name, serves, at, size in [*parts, *((name, serves, 0, 0) for name, serves in whole)]:
        named = findings.symbol(name)
        symbol = findings.object_at(named.address) if named is not None else None
        if named is None or symbol is None or symbol.address != named.address:
            missing.update(serves)
            continue
        initial = image.initial_bytes(symbol.address + at, size or symbol.size)
        found.append(StateBeside(symbol.address, symbol.size, at, initial, serves))
    return found, missing
