"""Walks the nodes of a std::set or std::map, laid out alike by every libstdc++, and proves each of them."""

from __future__ import annotations

from optctx.image.memory import WORD, MisfitError, load_words

__all__ = ["walk_tree"]

# In words. The object: {comparison, {colour, root, smallest, largest}, count}. A node: {colour, parent, left,
# right, what it holds...}. The root's parent is the part of the object that begins with a colour.
_OBJECT, _HEADER, _ROOT, _SMALLEST, _LARGEST, _COUNT = 6, 1, 2, 3, 4, 5
_PARENT, _LEFT, _RIGHT, _HELD = 1, 2, 3, 4
_MOST = 4096  # nodes; the largest of LLVM 22 has some 140


def walk_tree(address: int, held: int, what: str) -> list[list[int]]:
    """The `held` words that each node of the object at `address` holds, in the tree's order.

    Raises MisfitError if the count, the links or the way back up do not fit: a cycle, a node that is there
    twice, a wild pointer.
    """
    head = load_words(address, _OBJECT, what)
    count, header = head[_COUNT], address + _HEADER * WORD
    if count > _MOST:
        raise MisfitError(f"expected {what} at {address:#x}, found a count of {count}")
    found: list[list[int]] = []
    order: list[int] = []
    above, at = header, head[_ROOT]
    stack: list[tuple[int, list[int]]] = []
    while at or stack:
        while at:
            node = load_words(at, _HELD + held, what)
            if node[_PARENT] != above or len(found) + len(stack) >= count:
                raise MisfitError(f"expected {what} at {address:#x}, found links that are no tree")
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
