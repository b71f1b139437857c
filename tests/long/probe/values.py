"""Values of an option that an attacker would try."""

from __future__ import annotations

from optctx import Option, registry
from optctx.image.abi import INTEGER_RANGES
from optctx.testing.strategies import is_literal

_NUMBERS = (0, 1, 2, 3, 7, 16, 31, 33, 64, 255, 1000, 65_536, 10**6, 2**31 - 1)
_WIDE = {
    "uint": (2**31, 2**32 - 1),
    "int": (-1, -(2**31)),
    "uint64": (2**63, 2**64 - 1),
    "int64": (-1, -(2**63)),
}
_REALS = ("0", "0.5", "1", "-1", "1e-300", "1e300", "inf", "-inf", "nan")
_TEXTS = ("", "x", "f", "f:x", "all", "main=f", "*", "1-2", "a" * 5000)


def tuning_options() -> list[Option]:
    """Those that modules may set, in order of name."""
    return [
        option
        for _, option in sorted(registry().items())
        if option.trust == "tuning" and option.scope == "thread" and not option.alias_of
    ]


def spread_values(option: Option) -> list[str]:
    """A few of the values that a module may set: the bounds, what is next to them, the middle, small ones."""
    if is_literal(option):
        return ["true"]
    least, between, most = option.trusted_values.partition("..")
    if not between:
        return least.split("|") if least else hostile_values(option)
    low, high = float(least), float(most)
    if option.type in ("float", "double"):
        inside = [number for number in (0.0, 0.5, 1.0, (low + high) / 2) if low < number < high]
        return [least, *map(str, inside), most]
    smallest, largest = INTEGER_RANGES[option.type]
    bottom, top = max(int(low), smallest), min(int(high), largest)
    whole = {bottom, bottom + 1, 0, 1, 2, 7, 64, (bottom + top) // 2, top - 1, top}
    return [str(number) for number in sorted(whole) if bottom <= number <= top]


def hostile_values(option: Option) -> list[str]:
    """As command-line text, all different from each other."""
    kind = option.type
    if is_literal(option):
        return ["true"]
    if kind in ("bool", "boolOrDefault"):
        return ["true", "false"]
    if kind == "enum":
        return list(option.choices)
    if kind in _WIDE:
        return [str(number) for number in (*_NUMBERS, *_WIDE[kind])]
    if kind in ("double", "float"):
        return list(_REALS)
    return [*option.choices, *_TEXTS]
