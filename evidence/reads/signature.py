"""Takes the demangled name of a function apart: its class, whether it makes an object, its parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

_CLONE = re.compile(r" \[clone [^]]*\]")
_THUNK = re.compile(r"^(?:non-virtual|virtual|covariant return) thunk to ")
_QUALIFIERS = re.compile(r"(?: const| volatile| &&| &|&&|&)+$")
_OPERATOR = re.compile(r"\boperator(?:<=>|<<=|>>=|->\*|<<|>>|<=|>=|->|<|>|\(\)|\[\])")
_INNER_QUALIFIERS = re.compile(r"\)(?: const| volatile| &&| &)+::")
_INDIRECTION = re.compile(r"(?: const| volatile|[*&\s])+$")
_OWNER = re.compile(r"std::(?:__cxx11::)?(?:unique|shared)_ptr<|llvm::IntrusiveRefCntPtr<")
_OPENING, _CLOSING = "<({[", ">)}]"


class Signature(NamedTuple):
    """`scope`: the class or the namespace around the function, with template arguments; empty for none.

    `parameters`: as demangled; the name of an `extern "C"` has none. `constructs` and `destroys`: whether it
    is a constructor or a destructor.
    """

    scope: str
    parameters: tuple[str, ...] = ()
    constructs: bool = False
    destroys: bool = False


@lru_cache(1 << 16)
def signature_of(demangled: str) -> Signature:
    """The parts of a demangled name (Itanium C++ ABI, as `__cxa_demangle` writes it)."""
    text = _THUNK.sub("", _CLONE.sub("", demangled))
    text = _QUALIFIERS.sub("", text)
    if not text.endswith(")") or (begin := _matching(text)) == 0:
        return Signature("")
    parts = _parts(_OPERATOR.sub("operator", _INNER_QUALIFIERS.sub(")::", text[:begin])))
    name, scope = parts[-1], "::".join(parts[:-1])
    around = _bare(parts[-2]) if len(parts) > 1 else ""
    parameters = tuple(_split(text[begin + 1 : -1], ","))
    return Signature(scope, parameters, bool(around) and _bare(name) == around, name.startswith("~"))


@lru_cache(1 << 14)
def pointee(parameter: str) -> str:
    """The class of what a parameter is, points or refers to, or owns."""
    text = _INDIRECTION.sub("", parameter)
    if owner := _OWNER.match(text):
        return pointee(next(_split(text[owner.end() : -1], ","), ""))
    return text


def _matching(text: str) -> int:
    """The place of the parenthesis that the last one closes, or 0."""
    depth = 0
    for at in range(len(text) - 1, 0, -1):
        depth += (text[at] == ")") - (text[at] == "(")
        if depth == 0:
            return at
    return 0


def _parts(qualified: str) -> list[str]:
    """The components of a qualified name, without the result's type before it."""
    parts: list[str] = []
    depth = begin = at = 0
    while at < len(qualified):
        character = qualified[at]
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth == 0 and qualified.startswith("operator ", at) and (at == 0 or qualified[at - 1] in ": "):
            break  # a conversion: what follows is a type
        if depth == 0 and character == " ":
            parts, begin = [], at + 1
        elif depth == 0 and qualified.startswith("::", at):
            parts.append(qualified[begin:at])
            begin = at = at + 2
            continue
        at += 1
    return [*parts, qualified[begin:]]


def _split(text: str, separator: str) -> Iterator[str]:
    """The parts of a list, whose elements may contain the separator in brackets."""
    depth = begin = 0
    for at, character in enumerate(text):
        depth += (character in _OPENING) - (character in _CLOSING and text[at - 1 : at + 1] != "->")
        if depth == 0 and character == separator:
            yield text[begin:at].strip()
            begin = at + 1
    if last := text[begin:].strip():
        yield last


def _bare(component: str) -> str:
    """A component without template arguments and ABI tags."""
    return re.split(r"[<\[]", component, maxsplit=1)[0]
