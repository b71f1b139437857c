"""Splits TVM's one-line notation of a target into keys and values.

    llvm -mcpu=skylake -mattr=+avx2,+fma -cl-opt=-unroll-count:uint=4

Words are separated by spaces. Each is `-key=value`, `-key value` or `-key`. Separators inside quotes (') do
not count. A backslash escapes the next character.
"""

from __future__ import annotations

import re

from optctx.errors import TargetError, shown

_QUOTE, _ESCAPE = "'", "\\"
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)


def read_pairs(text: str) -> tuple[str, dict[str, str]]:
    """(kind, key -> value as it is written) of a target in one line.

    Raises TargetError for a quote that is not closed, for a word that is not a key, and for a key that is
    given twice.
    """
    kind, *words = _split(text, " ") or [""]
    pairs: dict[str, str] = {}
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        key, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or not key:
            raise TargetError(f"expected -key or -key=value, found {shown(word)}")
        if equals and not value:
            raise TargetError(f"expected a value after {shown(word)}; leave the key out to keep its default")
        if not equals:
            value = rest.pop() if rest and not rest[-1].startswith("-") else "1"
        if key in pairs:
            raise TargetError(f"the key {key!r} appears more than once; write it once, a list with commas")
        pairs[key] = value
    return kind, pairs


def items(value: str) -> list[str]:
    """The elements of a list as it is written, such as `+avx2,+fma`."""
    return [without_quotes(each) for each in _split(_interpreted(value), ",")]


def without_quotes(value: str) -> str:
    """The text without its escapes, the quotes around it, and the spaces at its ends."""
    return _interpreted(value).strip(" ")


def _split(text: str, separator: str) -> list[str]:
    """Split at separators outside quotes. Keeps quotes and escapes, and drops empty parts."""
    parts = [""]
    quoted = False
    rest = iter(text)
    for character in rest:
        if character == _ESCAPE:
            parts[-1] += character + next(rest, "")
        elif character == separator and not quoted:
            parts.append("")
        else:
            parts[-1] += character
            quoted ^= character == _QUOTE
    if quoted:
        raise TargetError(
            f"a quote in {shown(text)} is not closed; close it, or write \\' for a quote itself"
        )
    return [part for part in parts if part]


def _interpreted(text: str) -> str:
    """Remove quotes around the whole text, and backslashes outside quotes. A later pass needs the others."""
    if _QUOTED.fullmatch(text):
        text = text[1:-1]
    result = ""
    quoted = escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == _ESCAPE:
            escaped = True
            if not quoted:
                continue
        elif character == _QUOTE:
            quoted = not quoted
        result += character
    return result
