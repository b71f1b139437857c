"""Sets options for a whole process, as a compiler's command line does."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from optctx.image.facts.fact import need
from optctx.image.facts.names import PARSE_OPTIONS
from optctx.image.loaded import llvmlite_image

__all__ = ["set_process_options"]

# Parameter of llvm::cl::ParseCommandLineOptions -> its type and its argument. `argc` and `argv` vary.
_PARAMETERS: dict[str, tuple[Any, Any]] = {
    "argc": (ctypes.c_int, None),
    "argv": (ctypes.POINTER(ctypes.c_char_p), None),
    "overview": (ctypes.c_char_p, b""),
    "overview size": (ctypes.c_size_t, 0),
    "errors": (ctypes.c_void_p, None),  # none: print errors to standard error and exit
    "files": (ctypes.c_void_p, None),  # none: the real file system
    "variable": (ctypes.c_char_p, None),  # none: no arguments from the environment
    "long as --": (ctypes.c_bool, False),
}


def set_process_options(arguments: Sequence[str]) -> None:
    """Set options for this process, permanently, from arguments such as "-unroll-count=4".

    As in a compiler, an unknown option or a bad value ends the process with status 1 and LLVM's message on
    standard error. `llvmlite.binding.set_option` is no reference, because it silently ignores unknown
    options. Raises UnsupportedImageError if the library does not have LLVM's command line parser.
    """
    found = need(llvmlite_image(), PARSE_OPTIONS)
    parse = ctypes.CFUNCTYPE(ctypes.c_bool, *(_PARAMETERS[name][0] for name in found.form))(found.address)
    words = ["optctx", *arguments]
    argv = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    given = {"argc": len(words), "argv": argv}
    parse(*(given.get(name, _PARAMETERS[name][1]) for name in found.form))
