"""Stand-ins for values of plain Numba in functions that have LLVM options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Maker", "maker_for", "stands_for"]

Maker = Callable[[Any, Any], Any]  # of a value and a target; may return the value itself

_makers: list[tuple[type, Maker]] = []


def stands_for(kind: type) -> Callable[[Maker], Maker]:
    """Decorate the function that makes stand-ins for values of that class. Register a base class first."""

    def register(make: Maker) -> Maker:
        _makers.insert(0, (kind, make))
        return make

    return register


def maker_for(value: object) -> Maker | None:
    return next((make for kind, make in _makers if isinstance(value, kind)), None)
