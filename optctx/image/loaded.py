"""Finds the LLVM libraries of this process, and numbers them."""

from __future__ import annotations

import functools
import os
import sys

from optctx._native import MAX_IMAGES, Image, inside, loaded_libraries
from optctx.errors import UnsupportedImageError, clipped
from optctx.image.releases import INSTALL, check_release
from optctx.locks import Rank, lock_held_by_fork

__all__ = ["image_index", "is_llvmlites_image", "llvmlite_image", "loaded_image"]

_lock = lock_held_by_fork(Rank.IMAGES)
_indexes: dict[int, int] = {}  # by the image's base
_images: dict[int, Image] = {}  # by base: those that `loaded_image` gave


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


def loaded_image(library: str | os.PathLike[str]) -> Image:
    """The LLVM in a library that this process has loaded, for the parameter `image`. Loads nothing.

    Without it, functions are about llvmlite's LLVM. Every call returns the same object for the same library.

    Args:
        library: The path of its file, or the file's name alone, such as "libLLVM.so".

    Raises:
        UnsupportedImageError: No such library, or more than one, is loaded; or it is not the file on disk, or
            has no symbol table. Whether it has an LLVM shows at the first use of it.
    """
    wanted = os.fspath(library)
    is_name = os.path.basename(wanted) == wanted

    def is_wanted(path: str) -> bool:
        return os.path.basename(path) == wanted or os.path.basename(os.path.realpath(path)) == wanted

    found = {
        base: path
        for path, base in loaded_libraries()
        if (is_wanted(path) if is_name else os.path.realpath(path) == os.path.realpath(wanted))
    }
    if len(found) != 1:
        what = ", ".join(found.values()) or "none"
        raise UnsupportedImageError(
            f"cannot use the LLVM of {clipped(wanted)}: expected one library of that name that this process "
            f"has loaded, found {what}; load it first, and name it by its path"
        )
    ((base, path),) = found.items()
    if "llvmlite.binding.ffi" in sys.modules and base == llvmlite_image().base:
        return llvmlite_image()
    return _images[base] if base in _images else _images.setdefault(base, _open(path, base))


def is_llvmlites_image(image: Image) -> bool:
    """Whether the image is the library that llvmlite has loaded. Does not load llvmlite."""
    if "llvmlite.binding.ffi" not in sys.modules:
        return False
    try:
        return image.base == llvmlite_image().base
    except UnsupportedImageError:
        return False


def image_index(image: Image) -> int:
    """The index of an image: the first one asked for has 0. It stays the same until the process ends.

    Raises UnsupportedImageError, with nothing changed, for more images than a process can have.
    """
    found = _indexes.get(image.base)
    return inside(_lock, _number, image) if found is None else found


def _number(image: Image) -> int:
    if image.base not in _indexes and len(_indexes) == MAX_IMAGES:
        raise UnsupportedImageError(
            f"cannot use the LLVM of {image.path}: expected at most {MAX_IMAGES} LLVMs in a process, and "
            "optctx uses as many already; use this one in another process"
        )
    return _indexes.setdefault(image.base, len(_indexes))
