"""Chooses the values to try instead of the one that LLVM read."""

from __future__ import annotations

from collections.abc import Iterable

from optctx import Option
from optctx.facts import INTEGER_RANGES, Value

__all__ = ["values_within_type", "why_no_values"]

_FLOATS = ("float", "double")
_MANY = 1024  # the least number that counts as large; a power of two, as numbers of vector lanes must be
_FACTOR = 16  # a number this many times its base counts as large


def values_within_type(option: Option, base: Value) -> list[Value]:
    """The values to try for an option whose value is `base`, the most telling first, without `base` itself.

    They are the other value of a bool, every other choice of an enum, or a few numbers on both sides. Empty
    for types whose values cannot be guessed (see `why_no_values`).
    """
    kind = option.type
    if kind == "bool":
        return [not base]
    if kind == "boolOrDefault":
        return [value for value in (True, False) if value is not base]
    if kind == "enum":
        return [choice for choice in option.choices if choice != base]
    if kind in ("bits", "set"):
        return [[choice] for choice in option.choices if [choice] != base]
    if kind in INTEGER_RANGES and isinstance(base, int):
        least, most = INTEGER_RANGES[kind]
        return _others((value for value in _integers(base, least < 0) if least <= value <= most), base)
    if kind in _FLOATS and isinstance(base, float):
        return _others(_floats(base), base)
    return []


def why_no_values(option: Option) -> str:
    """The reason to report if `values_within_type` returns nothing."""
    if option.type in ("enum", "bits", "set"):
        return "there is no other choice"
    return f"no values can be guessed for type {option.type}"


def _integers(base: int, signed: bool) -> list[int]:
    """0 or, if the base is 0 or 1, 2: they change more than others do (design/rank.md). Then more of both
    sides: the half and the double, and the ends of the useful range.
    """
    near = [2, 4, 0, 1] if base in (0, 1) else [0, 1, base // 2, base * 2]
    large = max(_MANY, abs(base) * _FACTOR)
    return [*near, large, *([-large] if signed else [])]


def _floats(base: float) -> list[float]:
    near = [2.0, 0.5, 1.0] if base == 0 else [0.0, 1.0, base / 2, base * 2]
    return [*near, max(float(_MANY), abs(base) * _FACTOR)]


def _others(values: Iterable[int | float], base: int | float) -> list[Value]:
    return [value for value in dict.fromkeys(values) if value != base]
