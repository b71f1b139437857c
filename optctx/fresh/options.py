"""Options for a whole process, as a compiler's command line sets them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from optctx.errors import UnsupportedImageError
from optctx.image.loaded import llvmlite_image

__all__ = ["set_process_options"]

# bool llvm::cl::ParseCommandLineOptions(int argc, const char *const *argv, StringRef overview,
#     raw_ostream *errors, vfs::FileSystem *files, const char *variable, bool double_dash)
_PARSE = (
    "_ZN4llvm2cl23ParseCommandLineOptionsEiPKPKcNS_9StringRefEPNS_11raw_ostreamEPNS_3vfs10FileSystemES2_b"
)


def set_process_options(arguments: Sequence[str]) -> None:
    """Set options for this process and for good, from arguments such as "-unroll-count=4".

    An unknown option or a bad value ends the process with status 1 and LLVM's words on standard error, as
    it would a compiler: `llvmlite.binding.set_option` ignores unknown options without a word, so it is no
    reference. Raises UnsupportedImageError if the library does not have LLVM's command line.
    """
    image = llvmlite_image()
    address = image.symbol(_PARSE)
    if address is None:
        raise UnsupportedImageError(f"{image.path} has no symbol {_PARSE} to set options with")
    parse = ctypes.CFUNCTYPE(
        ctypes.c_bool,
        ctypes.c_int,
        ctypes.POINTER(ctypes.c_char_p),
        ctypes.c_char_p,  # the overview's text ...
        ctypes.c_size_t,  # ... and its length
        ctypes.c_void_p,  # NULL: complain on standard error and exit
        ctypes.c_void_p,  # NULL: the real files
        ctypes.c_char_p,  # NULL: no variable in the environment
        ctypes.c_bool,
    )(address)
    words = ["optctx", *arguments]
    argv = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))
    parse(len(words), argv, b"", 0, None, None, None, False)
