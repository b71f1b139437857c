"""Opens the libraries of this process that have an LLVM, and numbers them."""

from __future__ import annotations

import os

from optctx._native import MAX_IMAGES, Library, loaded_libraries
from optctx.errors import OptionTypeError, UnsupportedImageError, clipped, shown
from optctx.image.findings import Findings
from optctx.locks import Rank, lock_held_by_fork

_lock = lock_held_by_fork(Rank.IMAGES)


class Image(Library):
    """One LLVM of this process: its library, and what is known of it. Lives with the process.

    `findings`: what is worked out about the library's file.
    """

    def __init__(self, path: str, base: int) -> None:
        """Read the symbols of the library at this base. Raises RuntimeError for what cannot be used."""
        super().__init__(os.fsencode(path), base)
        self.findings = Findings(self)
        self._index: int | None = None

    @property
    def index(self) -> int:
        """By which native code knows it: the first one asked for has 0. Stays the same.

        Raises UnsupportedImageError, with nothing changed, for more images than a process can have.
        """
        with _lock:
            if self._index is None:
                if len(_numbered) == MAX_IMAGES:
                    raise UnsupportedImageError(
                        f"cannot use the LLVM of {self.path}: expected at most {MAX_IMAGES} LLVMs in a "
                        "process, and optctx uses as many already; use this one in another process"
                    )
                self._index = len(_numbered)
                _numbered.append(self)
            return self._index


_numbered: list[Image] = []
_images: dict[tuple[str, int], Image] = {}  # by path and base


def open_image(path: str, base: int) -> Image:
    """Return the library at this base, always the same object. Raises UnsupportedImageError."""
    if (path, base) in _images:
        return _images[path, base]
    try:
        image = Image(path, base)
        image.stay_loaded()  # code and pointers of this process refer to it from now on
    except RuntimeError as error:
        raise UnsupportedImageError(f"cannot use this LLVM: {error}") from error
    return _images.setdefault((path, base), image)


def loaded_image(library: str | os.PathLike[str]) -> Image:
    """Return the LLVM in a library that this process has loaded, for the parameter `image`. Loads nothing.

    Without it, functions are about llvmlite's LLVM. Every call returns the same object for the same library;
    its `path` and `build_id` say which one it is. The library stays loaded until the process ends.

    Args:
        library: The path of its file, or the file's name alone, such as "libLLVM.so".

    Raises:
        UnsupportedImageError: No such library, or more than one, is loaded; or it is not the file on disk, or
            has neither symbols nor a table of its functions. Whether it has an LLVM shows at the first use of
            it.
        OptionTypeError: `library` is not a path.
    """
    if not isinstance(library, (str, os.PathLike)):
        raise OptionTypeError(f"a library is named by its path, found {shown(library)}")
    wanted = str(os.fspath(library))
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
    return open_image(path, base)
