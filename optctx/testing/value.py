"""Draws values of one option, by its type. The simplest is the registered value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from optctx.compiling.facts import INTEGER_RANGES, Value
from optctx.errors import OptctxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from hypothesis.strategies import SearchStrategy

    from optctx import Option

# Texts for the types that have parsers of their own.
_OTHER = {
    "debug-only": ["", "licm", "gvn,loop-unroll", "isel:2"],
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
# What people set: counts and sizes, factors, names of functions and passes.
_COUNTS = (*range(9), 16, 32, 64, 128, 256)
_REALS = (0.0, 0.25, 0.5, 1.0, 2.0, 4.0)
_TEXTS = ("main", "f", "loop-unroll", "x86-64")
_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
# No comma: on a command line it separates the elements of most lists.
_WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0,"), max_size=20)


def values(option: Option, *, whole: bool = False) -> SearchStrategy[object]:
    """Draw values of an option that people set, in the form in which a context has them.

    Numbers are the registered value, its neighbours, its half and double, small counts and powers of two,
    as far as they are in `Option.trusted_values`. Shrinks towards the registered value: numbers by their
    distance from it, lists by their length.

    >>> from hypothesis import find
    >>> from optctx import registry
    >>> from optctx.testing import values
    >>> find(values(registry()["unroll-count"]), lambda count: count > 8)
    16

    Args:
        option: One of the registry.
        whole: Draw from all that LLVM's parser takes. LLVM crashes on some of these values, and compiles for
            hours with others.

    Raises:
        OptctxError: No text is known for a type that has a parser of its own.
    """
    if not can_draw(option):
        raise OptctxError(
            f"cannot draw values of {option.name!r}: its type, {option.type}, has a parser of its own; "
            "give a strategy of texts for it"
        )
    if option.type in ("bits", "set"):
        choices = list(option.choices)
        return st.sets(st.sampled_from(choices)).map(lambda drawn: sorted(drawn, key=choices.index))
    if option.type == "list":
        least = 1 if option.default else 0  # no command line takes elements away
        return st.lists(_elements(option, whole), min_size=least, max_size=4)
    if option.type in (*INTEGER_RANGES, *_FLOATS, "string"):
        return _any(option) if whole else st.sampled_from(_usual(option))
    return st.sampled_from(_alternatives(option, whole))


def can_draw(option: Option) -> bool:
    """Whether `values` knows values of the option."""
    return option.type not in ("other", "char") or option.name in _OTHER


def is_literal(option: Option) -> bool:
    """Whether the choices of an enum are options themselves, which take no value."""
    return option.name in option.choices


def _alternatives(option: Option, whole: bool) -> list[object]:
    """The values of a type that has few, the registered one first."""
    if option.name in _OTHER:
        return [*_OTHER[option.name]]
    if option.type == "enum":
        found: list[object] = [option.name] if is_literal(option) else [*option.choices]
    else:
        found = [True, False] if option.type == "boolOrDefault" else [False, True]
    return sorted(
        filter(_is_usual(option), found) if not whole else found, key=lambda value: value != option.default
    )


def _is_usual(option: Option) -> Callable[[object], bool]:
    """Whether a value is the registered one, or in `trusted_values`, such as "0..1000" or "1|2|4"."""
    least, between, most = option.trusted_values.partition("..")
    if between:
        bounds = float(least), float(most)
        return lambda value: value == option.default or bounds[0] <= value <= bounds[1]  # type: ignore[operator]
    known = option.trusted_values.split("|")
    return lambda value: not option.trusted_values or value == option.default or str(value) in known


def _usual(option: Option) -> list[object]:
    """Numbers and texts that people set, from the registered value outwards.

    They are listed: Hypothesis draws from ranges and alphabets by what the loaded modules say as well.
    """
    default = option.default
    if not isinstance(default, int | float):
        return list(dict.fromkeys([default or "", *_TEXTS]))
    if option.type in _FLOATS:
        found: set[int | float] = {default, default / 2, default * 2, *_REALS}
    else:
        least, most = _bounds(option)
        near = {default + step for step in (-2, -1, 1, 2)} | {default // 2, default * 2}
        found = {number for number in (default, *near, *_COUNTS) if least <= number <= most}
    found = {number for number in found if number >= min(default, 0)}  # -1 is for options that use it
    ordered = sorted(found, key=lambda number: (abs(number - default), number < default))
    return list(filter(_is_usual(option), ordered))


def _any(option: Option) -> SearchStrategy[object]:
    """All that LLVM's parser takes."""
    if option.type in INTEGER_RANGES:
        return _integers(option)
    if option.type == "string":
        return _TEXT if option.default == "" else st.just(option.default) | _TEXT
    drawn = st.floats(width=_FLOATS[option.type], allow_nan=False)  # type: ignore[arg-type]
    return st.just(option.default) | drawn if isinstance(option.default, float) else drawn


def _elements(option: Option, whole: bool) -> SearchStrategy[object]:
    if option.choices:
        return st.sampled_from(list(option.choices))
    if option.name in _ELEMENTS:
        return st.integers(*_ELEMENTS[option.name]) if whole else st.sampled_from(_COUNTS)
    return _WORDS if whole else st.sampled_from(_TEXTS)


def _integers(option: Option) -> SearchStrategy[object]:
    """Integers by their distance from the registered value, so they shrink towards small changes."""
    least, most = _bounds(option)
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
