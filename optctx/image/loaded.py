"""Finds the LLVM libraries of this process."""

from __future__ import annotations

import functools
import os

from optctx._native import Image, loaded_libraries
from optctx.errors import UnsupportedImageError
from optctx.image.releases import INSTALL, check_release

__all__ = ["llvmlite_image"]


@functools.cache
def llvmlite_image() -> Image:
    """The library that llvmlite has loaded, with its symbols; loads llvmlite if it is not loaded yet.

    Lives as long as the process. Raises UnsupportedImageError if there is no llvmlite or an old one, or if
    its library has no symbol table or is not the file on disk.
    """
    path = _library_path()
    real = os.path.realpath(path)
    for candidate, base in loaded_libraries():
        if os.path.realpath(candidate) == real:
            return _open(candidate, base)
    raise UnsupportedImageError(
        f"looked for llvmlite's library among the loaded ones: expected {path}, found no such mapping; "
        "was the file replaced after it was loaded?"
    )


def _library_path() -> str:
    try:
        from llvmlite.binding import ffi
    except (ImportError, OSError) as error:
        raise UnsupportedImageError(
            f"no LLVM in this process: importing llvmlite failed ({error}); install llvmlite with: {INSTALL}"
        ) from error
    check_release()
    return str(ffi.lib._name)


def _open(path: str, base: int) -> Image:
    try:
        return Image(path, base)
    except RuntimeError as error:
        raise UnsupportedImageError(f"cannot use this LLVM: {error}") from error
