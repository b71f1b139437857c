"""TVM's notation of a target in one line, before it is known what its keys mean.

    llvm -mcpu=skylake -mattr=+avx2,+fma -cl-opt=-unroll-count:uint=4

Words are separated by spaces. Each is `-key=value`, `-key value` or `-key`. A quote (') keeps separators
together, a backslash takes the meaning from the character behind it.
"""

from __future__ import annotations

import re

from optctx.errors import TargetError, shown

__all__ = ["items", "read_pairs", "without_quotes"]

_QUOTE, _ESCAPE = "'", "\\"
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'", re.DOTALL)


def read_pairs(text: str) -> tuple[str, dict[str, str]]:
    """(kind, key -> value as it is written) of a target in one line.

    Raises TargetError for a quote that is not closed, for a word that is no key, and for a key that is given
    twice.
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
    """A text as it is written, without the quotes around it, its escapes and the spaces at its ends."""
    return _interpreted(value).strip(" ")


def _split(text: str, separator: str) -> list[str]:
    """The parts between separators outside quotes. Quotes and escapes stay, empty parts do not."""
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
    """Quotes go where they surround the whole; a backslash goes outside quotes only, for a later pass."""
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
