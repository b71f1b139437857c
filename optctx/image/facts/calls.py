"""How functions of LLVM that optctx finds by name are called through ctypes."""

from __future__ import annotations

import ctypes
from typing import Any, Final

__all__ = ["PARSE_PARAMETERS"]

# Parameter of llvm::cl::ParseCommandLineOptions -> its type and its argument. `argc` and `argv` vary.
PARSE_PARAMETERS: Final[dict[str, tuple[Any, Any]]] = {
    "argc": (ctypes.c_int, None),
    "argv": (ctypes.POINTER(ctypes.c_char_p), None),
    "overview": (ctypes.c_char_p, b""),
    "overview size": (ctypes.c_size_t, 0),
    "errors": (ctypes.c_void_p, None),  # none: print errors to standard error and exit
    "files": (ctypes.c_void_p, None),  # none: the real file system
    "variable": (ctypes.c_char_p, None),  # none: no arguments from the environment
    "long as --": (ctypes.c_bool, False),
}
