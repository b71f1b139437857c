"""Mangled names of the types of options (Itanium C++ ABI)."""

from __future__ import annotations

from typing import Final

from optctx._native import Kind

__all__ = [
    "ALIAS",
    "GUARD",
    "IDLE_CALLBACK",
    "LIST",
    "NEW_STRING",
    "OPT",
    "REGISTRY_PARSER",
    "SCALARS",
    "SET",
    "STANDARD_CLASS",
    "VIRTUAL_FUNCTIONS",
    "VTABLE",
]

SCALARS: Final = {
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
    "Ss": Kind.string,  # the copy-on-write std::string
}
NEW_STRING: Final = "__cxx11"  # in the name of a type that holds the newer std::string, which is refused
STANDARD_CLASS: Final = ("St", "NSt")  # how the names of the standard library's classes begin
REGISTRY_PARSER: Final = "RegisterPassParser"

VTABLE: Final = "_ZTV"
GUARD: Final = "_ZGV"  # how the names begin of what guards the making of a variable: a word
ALIAS: Final = "_ZTVN4llvm2cl5aliasE"
OPT: Final = r"_ZTVN4llvm2cl3optI(?P<type>.+?)Lb(?P<external>[01])E(?P<parser>.+)EE"
# A set of an enum, ordered and allocated as any other.
SET: Final = r"St3setI(?P<enum>N.+E)St4lessIS\w*_ESaIS\w*_EE"
LIST: Final = r"_ZTVN4llvm2cl(?P<class>4list|4bits)I(?P<type>.+)EE"

# Parts of the names of the virtual functions that are called by their place in a vtable.
VIRTUAL_FUNCTIONS: Final = (
    "getNumOptions",
    "getOptionEj",
    "getDescription",
    "getOptionValueEj",
    "setDefault",
    "getValueExpectedFlagDefault",
)

# What invokes the callback that options up to LLVM 21 have unless they are given another: an empty lambda,
# the initialiser of the member. Later ones have none.
IDLE_CALLBACK: Final = r"8CallbackMUl.*9_M_invoke"
