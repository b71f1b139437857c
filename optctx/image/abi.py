"""The types of options, from the mangled names of their vtables (Itanium C++ ABI).

How a value of each type is laid out: native/image/layouts.hpp.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from optctx._native import Kind
from optctx.image.facts import mangled_names

# The name that users see, and the bytes of a value or of a list element: an enum's size is not in its name.
_KINDS = {
    Kind.boolean: ("bool", 1),
    Kind.bool_or_default: ("boolOrDefault", 4),
    Kind.int32: ("int", 4),
    Kind.uint32: ("uint", 4),
    Kind.int64: ("int64", 8),
    Kind.uint64: ("uint64", 8),
    Kind.float32: ("float", 4),
    Kind.float64: ("double", 8),
    Kind.character: ("char", 1),
    Kind.string: ("string", 8),
    Kind.long_string: ("string", 32),
    Kind.libcxx_string: ("string", 24),
    Kind.enumeration: ("enum", 0),
    Kind.list: ("list", 0),
    Kind.bits: ("bits", 0),
    Kind.other: ("other", 0),
}

INTEGERS = (Kind.int32, Kind.uint32, Kind.int64, Kind.uint64)
FLOATS = (Kind.float32, Kind.float64)
# Type -> (least, most) that LLVM's parsers take.
INTEGER_RANGES = {
    "int": (-(2**31), 2**31 - 1),
    "uint": (0, 2**32 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint64": (0, 2**64 - 1),
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
            supported=_is_known(mangled),
        )
    if match := re.fullmatch(mangled_names.LIST, name):
        # "<element>b<parser>": the b is the storage class `bool`, that is: internal.
        element, storage, _ = match["type"].partition("bN")
        kind = Kind.list if match["class"] == "4list" else Kind.bits
        return OptionType(
            kind,
            element=mangled_names.SCALARS.get(element, unknown),
            supported=bool(storage) and _is_known(element),
        )
    return OptionType(Kind.other, supported=False)


def _is_known(mangled: str) -> bool:
    return mangled in mangled_names.SCALARS or not re.search(mangled_names.UNKNOWN_LAYOUT, mangled)


def type_name(kind: Kind) -> str:
    """Return the name users see: "bool", "uint", "enum", ..."""
    return _KINDS[kind][0]


def element_size(kind: Kind) -> int:
    """Return the bytes of a list element, or 0 if its type does not determine them."""
    return _KINDS[kind][1]
