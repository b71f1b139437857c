"""The type of an option, read from the mangled name of its vtable (Itanium C++ ABI)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from optctx._native import Kind

__all__ = ["INTEGER_RANGES", "OptionType", "element_size", "parse_vtable_name", "type_name"]

_SCALARS = {
    "b": Kind.boolean,
    "NS0_13boolOrDefaultE": Kind.bool_or_default,
    "i": Kind.int32,
    "j": Kind.uint32,
    "l": Kind.int64,
    "x": Kind.int64,
    "m": Kind.uint64,
    "y": Kind.uint64,
    "f": Kind.float32,
    "d": Kind.float64,
    "c": Kind.character,
    "Ss": Kind.string,  # the copy-on-write std::string; the newer one is mangled otherwise, and refused
}

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

_OPT = re.compile(r"_ZTVN4llvm2cl3optI(?P<type>.+?)Lb(?P<external>[01])E(?P<parser>.+)EE")
# A set of an enum, ordered and allocated as any other.
_SET = re.compile(r"St3setI(?P<enum>N.+E)St4lessIS\w*_ESaIS\w*_EE")
_LIST = re.compile(r"_ZTVN4llvm2cl(?P<class>4list|4bits)I(?P<type>.+)EE")


@dataclass(frozen=True, slots=True)
class OptionType:
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
    if name == "_ZTVN4llvm2cl5aliasE":
        return OptionType(Kind.other, alias=True)
    unknown = Kind.enumeration if enumerated else Kind.other
    if match := _OPT.fullmatch(name):
        mangled = match["type"]
        if held := _SET.fullmatch(mangled):
            # cl::location of a set is nowhere in this library, so copying it is untested.
            return OptionType(Kind.set, Kind.enumeration, held["enum"], supported=match["external"] == "0")
        if mangled.startswith(("St", "NSt")):
            unknown = Kind.other  # a class of the standard library (std::set), whatever its parser is
        return OptionType(
            _SCALARS.get(mangled, unknown),
            external=match["external"] == "1",
            registry_parser="RegisterPassParser" in match["parser"],
            supported="__cxx11" not in mangled,
        )
    if match := _LIST.fullmatch(name):
        # "<element>b<parser>": the b is the storage class `bool`, that is: internal.
        element, storage, _ = match["type"].partition("bN")
        kind = Kind.list if match["class"] == "4list" else Kind.bits
        return OptionType(
            kind,
            element=_SCALARS.get(element, unknown),
            supported=bool(storage) and "__cxx11" not in element,
        )
    return OptionType(Kind.other, supported=False)


def type_name(kind: Kind) -> str:
    """The name users see: "bool", "uint", "enum", ..."""
    return _NAMES[kind]


def element_size(kind: Kind) -> int:
    """Bytes that one list element takes, or 0 if its type does not say."""
    return _ELEMENT_SIZES.get(kind, 0)
