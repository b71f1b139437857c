"""Stand-ins for values of plain Numba in functions that have LLVM options."""

from __future__ import annotations

import functools
from typing import Any


@functools.singledispatch
def stand_in(value: Any, target: Any) -> Any:
    """Return what stands for a value in functions of a target; it may be the value itself."""
    return value
