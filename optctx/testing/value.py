"""Draws values of one option, by its type. The simplest is the registered value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from optctx.errors import OptctxError
from optctx.facts import INTEGER_RANGES, Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hypothesis.strategies import SearchStrategy

    from optctx import Option

# Texts for the types that have parsers of their own.
_OTHER = {
    "pass-remarks": ["", "a.*", "inline|loop-vectorize"],
    "pass-remarks-analysis": ["", "[a-z]+"],
    "pass-remarks-missed": ["", "licm"],
    "sve-tail-folding": ["all", "simple", "disabled", "default+reductions", "all+noreverse"],
    "x86-align-branch": ["", "jcc", "jcc+fused+jmp", "call+ret+indirect"],
}
_ELEMENTS = {
    "print-after-pass-number": (0, 2**32 - 1),
    "print-before-pass-number": (0, 2**32 - 1),
    "thinlto-move-symbols": (0, 2**64 - 1),
}
# The largest number that a parser of an option's own takes, by how the option's name ends.
_MOST = {"-new-hint-value": 255, "amdgpu-mfma-padding-ratio": 100}
_FLOATS = {"float": 32, "double": 64}
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
# No comma: on a command line it separates the elements of most lists.
_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0,"), max_size=20)


def values(option: Option, *, trusted: bool = False) -> SearchStrategy[object]:
    """Draw values that LLVM's parser accepts for an option, in the form in which a context has them.

    Shrinks towards the registered value: numbers by their distance from it, lists by their length. With
    `trusted`, values stay within `Option.trusted_values`, which LLVM has survived in trials. Otherwise
    numbers have the whole range of their type, and LLVM may crash on them.

    Raises:
        OptctxError: No text is known for a type that has a parser of its own.
    """
    choices = list(option.choices)
    if trusted and "|" in option.trusted_values:
        return _alternatives(option)
    if option.type == "enum":
        return (
            st.just(option.name) if is_literal(option) else st.sampled_from(_first(option.default, choices))
        )
    if option.type in ("bits", "set"):
        return st.sets(st.sampled_from(choices)).map(lambda drawn: sorted(drawn, key=choices.index))
    if option.type == "list":
        least = 1 if option.default else 0  # no command line takes elements away
        return st.lists(_elements(option, choices), min_size=least, max_size=4)
    if option.type == "bool":
        return st.sampled_from(_first(option.default, [False, True]))
    if option.type == "boolOrDefault":
        return st.sampled_from(_first(option.default, [True, False]))
    if option.type in INTEGER_RANGES:
        return _integers(option, trusted)
    if option.type in _FLOATS:
        return _floats(option, trusted)
    if option.type == "string":
        return _TEXT if option.default == "" else st.just(option.default) | _TEXT
    if not can_draw(option):
        raise OptctxError(
            f"cannot draw values of {option.name!r}: its type, {option.type}, has a parser of its own; "
            "give a strategy of texts for it"
        )
    return st.sampled_from(_OTHER[option.name])


def can_draw(option: Option) -> bool:
    """Whether `values` knows values of the option."""
    return option.type not in ("other", "char") or option.name in _OTHER


def is_literal(option: Option) -> bool:
    """Whether the choices of an enum are options themselves, which take no value."""
    return option.name in option.choices


def _alternatives(option: Option) -> SearchStrategy[object]:
    """The values in `trusted_values` such as "1|2|4"."""
    known = option.trusted_values.split("|")
    found = [int(value) for value in known] if option.type in INTEGER_RANGES else known
    return st.sampled_from(_first(option.default, found))


def _first(default: Value, others: Sequence[object]) -> list[object]:
    """The registered value before the others, if it is one of them."""
    return sorted(others, key=lambda value: value != default)


def _elements(option: Option, choices: list[str]) -> SearchStrategy[object]:
    if choices:
        return st.sampled_from(choices)
    if option.name in _ELEMENTS:
        return st.integers(*_ELEMENTS[option.name])
    return _WORDS


def _integers(option: Option, trusted: bool) -> SearchStrategy[object]:
    """Integers by their distance from the registered value, so they shrink towards small changes."""
    least, most = _bounds(option)
    if trusted:
        low, high = _trusted_range(option)
        least, most = max(least, math.ceil(low)), min(most, math.floor(high))
    middle = min(max(_number(option.default), least), most)
    above = st.integers(0, most - middle).map(lambda distance: middle + distance)
    if middle == least:
        return above
    return above | st.integers(1, middle - least).map(lambda distance: middle - distance)


def _bounds(option: Option) -> tuple[int, int]:
    """The least and the largest integer that LLVM's parser accepts."""
    least, most = INTEGER_RANGES[option.type]
    return least, min([most, *(limit for end, limit in _MOST.items() if option.name.endswith(end))])


def _number(default: Value) -> int:
    return default if isinstance(default, int) else 0


def _floats(option: Option, trusted: bool) -> SearchStrategy[object]:
    width = _FLOATS[option.type]
    low, high = _trusted_range(option) if trusted else (-math.inf, math.inf)
    bounds = {} if not trusted else {"min_value": low, "max_value": high}
    drawn = st.floats(width=width, allow_nan=False, **bounds)  # type: ignore[arg-type]
    return st.just(option.default) | drawn if isinstance(option.default, float) else drawn


def _trusted_range(option: Option) -> tuple[float, float]:
    """The bounds in `trusted_values` such as "0..1000"; infinite if every value is trusted."""
    least, between, most = option.trusted_values.partition("..")
    if between:
        return float(least), float(most)
    return -math.inf, math.inf
