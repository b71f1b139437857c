"""What stands for a value of plain Numba's in functions that have LLVM options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Maker", "maker_for", "stands_for"]

Maker = Callable[[Any, Any], Any]  # of a value and a target; may give the value itself

_makers: list[tuple[type, Maker]] = []


def stands_for(kind: type) -> Callable[[Maker], Maker]:
    """Decorate what makes the stand-in for values of that kind; of a class, it goes before that of a base."""

    def register(make: Maker) -> Maker:
        _makers.insert(0, (kind, make))
        return make

    return register


def maker_for(value: object) -> Maker | None:
    return next((make for kind, make in _makers if isinstance(value, kind)), None)
