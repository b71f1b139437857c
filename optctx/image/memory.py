"""Reads memory of a library whose layout is not proven yet: every address may be wild, every size too large.

Nothing here faults. What does not fit is a MisfitError, which `checking` turns into the error that users see.
The nodes of a std::set or std::map are laid out alike by every libstdc++; each of them is proven.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator

from optctx._native import MisfitError, OsError, read_checked
from optctx.errors import UnsupportedImageError

WORD = 8  # bytes
LONGEST_TEXT = 256  # bytes of a name
_MOST = 1 << 20  # bytes of an object: the largest option of LLVM 22 has 680
_MOST_NODES = 4096  # of a tree; the largest of LLVM 22 has some 140


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


def load_text(address: int, size: int, what: str) -> str:
    """Read a name. Raises MisfitError if it is empty, too long, unreadable or not UTF-8."""
    if not 0 < size <= LONGEST_TEXT:
        raise MisfitError(f"expected {what} at {address:#x}, found a length of {size} bytes")
    try:
        return read_checked(address, size, what).decode()
    except UnicodeDecodeError as error:
        raise MisfitError(f"expected {what} at {address:#x}, found bytes that are not text") from error


# In words. The object: {comparison, {colour, root, smallest, largest}, count}. A node: {colour, parent, left,
# right, what it holds...}. The root's parent is the part of the object that begins with a colour.
_OBJECT, _HEADER, _ROOT, _SMALLEST, _LARGEST, _COUNT = 6, 1, 2, 3, 4, 5
_PARENT, _LEFT, _RIGHT, _HELD = 1, 2, 3, 4


def walk_tree(address: int, held: int, what: str) -> list[list[int]]:
    """Return the `held` words of each node of the std::set or std::map at `address`, in its order.

    Raises MisfitError if the count, the links or the way back up do not fit: a cycle, a node that is there
    twice, a wild pointer.
    """
    head = load_words(address, _OBJECT, what)
    count, header = head[_COUNT], address + _HEADER * WORD
    if count > _MOST_NODES:
        raise MisfitError(f"expected {what} at {address:#x}, found a count of {count}")
    found: list[list[int]] = []
    order: list[int] = []
    above, at = header, head[_ROOT]
    stack: list[tuple[int, list[int]]] = []
    while at or stack:
        while at:
            node = load_words(at, _HELD + held, what)
            if node[_PARENT] != above or len(found) + len(stack) >= count:
                raise MisfitError(f"expected {what} at {address:#x}, found links that are not a tree")
            stack.append((at, node))
            above, at = at, node[_LEFT]
        above, node = stack.pop()
        order.append(above)
        found.append(node[_HELD:])
        at = node[_RIGHT]
    ends = (order[0], order[-1]) if order else (header, header)
    if len(found) != count or (head[_SMALLEST], head[_LARGEST]) != ends:
        raise MisfitError(
            f"expected {what} of {count} at {address:#x}, found {len(found)} nodes or other ends"
        )
    return found
