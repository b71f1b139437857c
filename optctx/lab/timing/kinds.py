"""The types of numbers that kernels take and return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["KINDS", "Kind", "NumberKind"]

Kind = Literal["bool", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"]


@dataclass(frozen=True)
class NumberKind:
    """How Python's `array`, LLVM IR and the calling convention have a type. `low`, `high`: of integers."""

    code: str  # of `array`
    ir: str
    extension: str  # attribute of an argument or returned value: the caller extends it to a register
    size: int  # bytes
    low: int = 0
    high: int = 0

    @property
    def is_float(self) -> bool:
        return self.code in "fd"


def _integer(code: str, bits: int, *, signed: bool) -> NumberKind:
    extension = ("signext" if signed else "zeroext") if bits < 64 else ""
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return NumberKind(code, f"i{bits}", extension, bits // 8, low, high)


KINDS: dict[Kind, NumberKind] = {
    "bool": NumberKind("B", "i1", "zeroext", 1, 0, 1),
    "i8": _integer("b", 8, signed=True),
    "i16": _integer("h", 16, signed=True),
    "i32": _integer("i", 32, signed=True),
    "i64": _integer("q", 64, signed=True),
    "u8": _integer("B", 8, signed=False),
    "u16": _integer("H", 16, signed=False),
    "u32": _integer("I", 32, signed=False),
    "u64": _integer("Q", 64, signed=False),
    "f32": NumberKind("f", "float", "", 4),
    "f64": NumberKind("d", "double", "", 8),
}
