"""How LLVM decides about debug output: `DebugFlag && isCurrentDebugType(TYPE)` (llvm/Support/Debug.h)."""

from __future__ import annotations

import ctypes
from typing import NamedTuple

from optctx._native import Image, Kind, Symbol, call_pointer
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import find_object, need
from optctx.image.facts.names import CURRENT_DEBUG_TYPES, DEBUG_FLAG, IS_DEBUG_TYPE, LIST_DELETERS
from optctx.image.findings import findings_of
from optctx.image.memory import checking, load_words
from optctx.image.records import OptionRecord
from optctx.image.survey import Survey

__all__ = ["DebugTypes", "Printing", "find_debug_types", "find_printing"]

_LIST_WORDS = 3  # of an llvm::ManagedStatic: {object, deleter, next}


class DebugTypes(NamedTuple):
    """The static list of types, which exists. `size` and `type_size`, of one type, in bytes."""

    address: int
    size: int
    type_size: int


class Printing(NamedTuple):
    """`option` is `debug`, which `flag` belongs to, and `debug_only` the other one that sets it. `types`: the
    list that the function called `asked` reads."""

    option: OptionRecord
    debug_only: OptionRecord
    flag: int
    types: DebugTypes
    asked: str  # mangled


def find_debug_types(image: Image) -> DebugTypes:
    """The list of types; has LLVM make it, which is empty unless some were given.

    Raises UnsupportedImageError if the image lacks it, or if its types are not what their reader says.
    """
    need(image, CURRENT_DEBUG_TYPES)
    asked, symbol = need(image, IS_DEBUG_TYPE), find_object(image, CURRENT_DEBUG_TYPES)
    if symbol is None:
        raise UnsupportedImageError(f"{image.path}: expected {CURRENT_DEBUG_TYPES.what} to be an object")
    call_pointer(asked.address, ctypes.addressof(ctypes.create_string_buffer(b"optctx")))
    _check_deleter(image, symbol, asked.form)
    return DebugTypes(symbol.address, symbol.size, asked.form)


def _check_deleter(image: Image, types: Symbol, type_size: int) -> None:
    with checking(image.path):
        _, deleter, _ = load_words(types.address, _LIST_WORDS, CURRENT_DEBUG_TYPES.what)
    function = findings_of(image).function_at(deleter) if image.contains(deleter) else None
    expected, found = LIST_DELETERS[type_size], "none" if function is None else function.name
    if expected != found:
        raise UnsupportedImageError(
            f"{image.path}: expected {expected} to delete {CURRENT_DEBUG_TYPES.what}, found {found}"
        )


def find_printing(image: Image, survey: Survey) -> Printing:
    """Raises UnsupportedImageError where anything is not as in an LLVM that has debug output.

    Those that were built without assertions have none.
    """
    types = find_debug_types(image)
    flag = need(image, DEBUG_FLAG).address
    options = {name: record for record in survey.records for name in record.names}
    option, debug_only = options.get("debug"), options.get("debug-only")
    if option is None or debug_only is None:
        raise UnsupportedImageError(f"{image.path}: expected the options debug and debug-only")
    plain = option.type.kind == Kind.boolean and option.type.external and not option.callback
    if not plain or option.variable != flag or option.variable_size != 1 or option.heap_size is None:
        raise UnsupportedImageError(
            f"{image.path}: the option debug is not a plain one that sets {DEBUG_FLAG.what}"
        )
    return Printing(option, debug_only, flag, types, need(image, IS_DEBUG_TYPE).symbol)
