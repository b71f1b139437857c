"""The type of an option, read from the mangled name of its vtable (Itanium C++ ABI)."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from optctx._native import Kind
from optctx.image.facts import types

__all__ = ["INTEGER_RANGES", "OptionType", "element_size", "parse_vtable_name", "type_name"]

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
    Kind.set: "set",
    Kind.other: "other",
}

# Type -> (least, most) that LLVM's parsers take.
INTEGER_RANGES = {
    "int": (-(2**31), 2**31 - 1),
    "uint": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
}

# Bytes of a list element; an enum's size is not in its name.
_ELEMENT_SIZES = {
    Kind.boolean: 1,
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
    """`kind` as stored; `element` of a list or a set; `external`: the value is where cl::location says."""

    kind: Kind
    element: Kind = Kind.other
    enum: str = ""  # mangled, of a set's elements
    external: bool = False
    alias: bool = False
    registry_parser: bool = False  # the value is a pointer; the choices come from a registry of passes
    supported: bool = True  # False: a layout that is not known here


@cache  # thousands of options have a few dozen types
def parse_vtable_name(name: str, enumerated: bool) -> OptionType:
    """The type behind a vtable symbol; `enumerated` says that the option's parser has a list of choices."""
    if name == types.ALIAS:
        return OptionType(Kind.other, alias=True)
    unknown = Kind.enumeration if enumerated else Kind.other
    if match := re.fullmatch(types.OPT, name):
        mangled = match["type"]
        if held := re.fullmatch(types.SET, mangled):
            # cl::location of a set is nowhere in this library, so copying it is untested.
            return OptionType(Kind.set, Kind.enumeration, held["enum"], supported=match["external"] == "0")
        if mangled.startswith(types.STANDARD_CLASS):
            unknown = Kind.other  # a class of the standard library (std::set), whatever its parser is
        return OptionType(
            types.SCALARS.get(mangled, unknown),
            external=match["external"] == "1",
            registry_parser=types.REGISTRY_PARSER in match["parser"],
            supported=types.NEW_STRING not in mangled,
        )
    if match := re.fullmatch(types.LIST, name):
        # "<element>b<parser>": the b is the storage class `bool`, that is: internal.
        element, storage, _ = match["type"].partition("bN")
        kind = Kind.list if match["class"] == "4list" else Kind.bits
        return OptionType(
            kind,
            element=types.SCALARS.get(element, unknown),
            supported=bool(storage) and types.NEW_STRING not in element,
        )
    return OptionType(Kind.other, supported=False)


def type_name(kind: Kind) -> str:
    """The name users see: "bool", "uint", "enum", ..."""
    return _NAMES[kind]


def element_size(kind: Kind) -> int:
    """Bytes that one list element takes, or 0 if its type does not say."""
    return _ELEMENT_SIZES.get(kind, 0)
