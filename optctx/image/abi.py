"""The types of options, from the mangled names of their vtables, and proofs that they hold what these say.

Facts of the Itanium C++ ABI and of libstdc++: a copy-on-write std::string is one pointer to its characters;
{length, capacity, owners} stand before them. A std::vector is {begin, end, end of storage}. For the rest see
native/image/layouts.hpp. Nothing follows a pointer in an option before it is proven.
"""

from __future__ import annotations

import re
import time
from functools import cache
from typing import NamedTuple

from optctx._native import Kind, MisfitError, read_checked
from optctx.image.facts import mangled_names
from optctx.image.memory import WORD, load_words

_NAMES = {
    Kind.boolean: "bool",
    Kind.bool_or_default: "boolOrDefault",
    Kind.int32: "int",
    Kind.uint32: "uint",
    Kind.int64: "int64",
    Kind.uint64: "uint64",
    Kind.float32: "float",
    Kind.float64: "double",
    Kind.character: "char",
    Kind.string: "string",
    Kind.enumeration: "enum",
    Kind.list: "list",
    Kind.bits: "bits",
    Kind.other: "other",
}

# Type -> (least, most) that LLVM's parsers take.
INTEGER_RANGES = {
    "int": (-(2**31), 2**31 - 1),
    "uint": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}

# Bytes of a value or of a list element; an enum's size is not in its name.
_SIZES = {
    Kind.boolean: 1,
    Kind.bool_or_default: 4,
    Kind.int32: 4,
    Kind.uint32: 4,
    Kind.int64: 8,
    Kind.uint64: 8,
    Kind.float32: 4,
    Kind.float64: 8,
    Kind.character: 1,
    Kind.string: 8,
}


class OptionType(NamedTuple):
    """`kind` as stored; `element` of a list; `external`: the value is where cl::location says."""

    kind: Kind
    element: Kind = Kind.other
    external: bool = False
    alias: bool = False
    registry_parser: bool = False  # the value is a pointer; the choices come from a registry of passes
    supported: bool = True  # False: a layout that is not known here

    @property
    def readable(self) -> bool:
        """Whether a value has a form that can be read."""
        return self.supported and self.kind != Kind.other


@cache  # thousands of options have a few dozen types
def parse_vtable_name(name: str, enumerated: bool) -> OptionType:
    """Return the type behind a vtable symbol. `enumerated`: the option's parser has a list of choices."""
    if name == mangled_names.ALIAS:
        return OptionType(Kind.other, alias=True)
    unknown = Kind.enumeration if enumerated else Kind.other
    if match := re.fullmatch(mangled_names.OPT, name):
        mangled = match["type"]
        if mangled.startswith(mangled_names.STANDARD_CLASS):
            unknown = Kind.other  # a class of the standard library, whatever its parser is
        return OptionType(
            mangled_names.SCALARS.get(mangled, unknown),
            external=match["external"] == "1",
            registry_parser=mangled_names.REGISTRY_PARSER in match["parser"],
            supported=mangled_names.NEW_STRING not in mangled and not mangled.startswith(mangled_names.SET),
        )
    if match := re.fullmatch(mangled_names.LIST, name):
        # "<element>b<parser>": the b is the storage class `bool`, that is: internal.
        element, storage, _ = match["type"].partition("bN")
        kind = Kind.list if match["class"] == "4list" else Kind.bits
        return OptionType(
            kind,
            element=mangled_names.SCALARS.get(element, unknown),
            supported=bool(storage) and mangled_names.NEW_STRING not in element,
        )
    return OptionType(Kind.other, supported=False)


def type_name(kind: Kind) -> str:
    """Return the name users see: "bool", "uint", "enum", ..."""
    return _NAMES[kind]


def element_size(kind: Kind) -> int:
    """Return the bytes of a list element, or 0 if its type does not determine them."""
    return _SIZES.get(kind, 0)


MANY_PARTS = frozenset((Kind.string, Kind.list, Kind.bits))  # what has pointers in it

_MOST = 1 << 24  # bytes of a text or of a vector
_ATTEMPTS = 100  # another thread may be setting the option, which takes LLVM some microseconds
_VECTOR, _LIST_DEFAULTS, _LIST_POSITIONS, _BITS_POSITIONS = 3, 3 * WORD, 7 * WORD, WORD
_POSITION = 4  # bytes
_SHARED_POINTER = 2 * WORD  # bytes
_STRING_HEAD = 3 * WORD  # bytes before the characters of a string


def prove_contents(name: str, option_type: OptionType, address: int, size: int | None) -> None:
    """Prove that an option's value has its type. Raises MisfitError if it keeps failing.

    `address`: of the value. `size`: in bytes, if the value is in a named variable.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _prove(option_type, address, size)
        except MisfitError as error:
            if attempt == _ATTEMPTS - 1:
                raise MisfitError(f"the value of the option {name} is not of its type: {error}") from error
            time.sleep(0)


def _prove(option_type: OptionType, address: int, size: int | None) -> None:
    kind = option_type.kind
    if not option_type.supported:
        return
    if kind == Kind.string:
        _prove_string(address)
    elif kind == Kind.list:
        _prove_list(option_type.element, address)
    elif kind == Kind.bits:
        _prove_vector(address + _BITS_POSITIONS, _POSITION)
    elif not option_type.external:
        return  # in the object itself, which has been read
    elif kind != Kind.other:
        read_checked(address, element_size(kind) or WORD, "a value")
    elif size == _SHARED_POINTER:
        for at in load_words(address, 2, "a shared pointer"):
            load_words(at, 2 if at else 0, "what a shared pointer owns")


def _string_length(characters: int) -> int:
    """Return the length of the string that has its characters there. Raises MisfitError if none has."""
    if characters < _STRING_HEAD:
        raise MisfitError(f"expected the characters of a string, found the address {characters:#x}")
    length, capacity, _ = load_words(characters - _STRING_HEAD, 3, "the head of a string")
    if not length <= capacity <= _MOST:
        raise MisfitError(f"expected a string at {characters:#x}, found {length} of {capacity} characters")
    return length


def _prove_string(address: int) -> None:
    (characters,) = load_words(address, 1, "a string")
    length = _string_length(characters)
    if read_checked(characters, length + 1, "the characters of a string")[-1:] != b"\0":
        raise MisfitError(f"expected a string at {address:#x}, found one that does not end")


def _prove_list(element: Kind, address: int) -> None:
    begin, end = _prove_vector(address, element_size(element) or 1)
    _prove_vector(address + _LIST_DEFAULTS, WORD)
    _prove_vector(address + _LIST_POSITIONS, _POSITION)
    if element == Kind.string:
        for at in range(begin, end, WORD):
            _prove_string(at)


def _prove_vector(address: int, element: int) -> tuple[int, int]:
    """Prove a vector and return (begin, end) of its elements. `element`: bytes of one."""
    begin, end, storage = load_words(address, _VECTOR, "a vector")
    if not (begin <= end <= storage and (end - begin) % element == 0 and end - begin <= _MOST):
        raise MisfitError(f"expected a vector at {address:#x}, found one from {begin:#x} to {end:#x}")
    read_checked(begin, end - begin, "the elements of a vector")
    return begin, end
