"""Reads memory of a library whose layout is not proven yet: every address may be wild, every size too large.

Nothing here faults. What does not fit is a MisfitError, which `checking` turns into the error that users see.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

from optctx._native import MisfitError, OsError, read_checked
from optctx.errors import UnsupportedImageError

WORD = 8  # bytes
TABLE_HEAD = 2 * WORD  # of a table of virtual functions: what is before the first one
_MOST = 1 << 20  # bytes of an object: the largest option of LLVM 22 has 680


@contextlib.contextmanager
def checking(path: str) -> Iterator[None]:
    """Raise UnsupportedImageError, with the library's path, for what does not fit or cannot be asked for."""
    try:
        yield
    except (MisfitError, OsError) as error:
        raise UnsupportedImageError(f"{path}: {error}") from error


def load_words(address: int, count: int, what: str) -> list[int]:
    """Read 64-bit words. Raises MisfitError, which names `what`, for too many or unreadable ones."""
    if not 0 <= count <= _MOST // WORD:
        raise MisfitError(f"expected {what} at {address:#x}, found a size of {count * WORD} bytes")
    return list(struct.unpack(f"<{count}Q", read_checked(address, count * WORD, what)))


def follow_pointer(address: int, what: str) -> None:
    """Check that an object begins with a pointer to memory that can be read. Raises MisfitError if not."""
    try:
        (pointer,) = load_words(address, 1, what)
        load_words(pointer, 1, what)
    except MisfitError:
        raise MisfitError(f"expected {what} at {address:#x}, found no pointer to readable memory") from None
