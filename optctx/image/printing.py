"""How LLVM decides about debug output: `DebugFlag && isCurrentDebugType(TYPE)` (llvm/Support/Debug.h)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from optctx._native import Image, Kind, call_pointer
from optctx.image.survey import OptionRecord, Survey

__all__ = ["Printing", "find_printing"]

_FLAG = "_ZN4llvm9DebugFlagE"
_TYPES = "_ZN4llvmL16CurrentDebugTypeE"
_ASKED = "_ZN4llvm18isCurrentDebugTypeEPKci"


@dataclass(frozen=True)
class Printing:
    """`option` is `debug`, which `flag` belongs to, and `debug_only` the other one that sets it. `types`: the
    static list of types that the function called `asked` reads; `size` in bytes."""

    option: OptionRecord
    debug_only: OptionRecord
    flag: int
    types: int
    types_size: int
    asked: str  # mangled


def find_printing(image: Image, survey: Survey) -> Printing | None:
    """None where anything is not as in LLVM 22 built with assertions; others have no debug output.

    Has LLVM make its list of types, which is empty unless some were given.
    """
    asked, flag, types = (image.symbol(name) for name in (_ASKED, _FLAG, _TYPES))
    symbol = image.object_at(types) if types is not None else None
    options = {name: record for record in survey.records for name in record.names}
    option, debug_only = options.get("debug"), options.get("debug-only")
    if asked is None or flag is None or symbol is None or option is None or debug_only is None:
        return None
    plain = option.type.kind == Kind.boolean and option.type.external and not option.callback
    if not plain or option.variable != flag or option.variable_size != 1 or option.heap_size is None:
        return None
    call_pointer(asked, ctypes.addressof(ctypes.create_string_buffer(b"optctx")))
    return Printing(option, debug_only, flag, symbol.address, symbol.size, _ASKED)
