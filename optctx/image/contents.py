"""Proves that what an option holds is what its type says, before anything follows a pointer in it.

Facts of libstdc++: a copy-on-write std::string is one pointer to its characters; {length, capacity, owners}
stand before them. A std::vector is {begin, end, end of storage}. For the rest see
native/image/option_layout.hpp.
"""

from __future__ import annotations

import time

from optctx._native import Kind, read_checked
from optctx.image.memory import WORD, MisfitError, load_words, walk_tree
from optctx.image.typenames import OptionType, element_size

__all__ = ["MANY_PARTS", "prove_contents"]

MANY_PARTS = frozenset((Kind.string, Kind.list, Kind.bits, Kind.set))  # what has pointers in it

_MOST = 1 << 24  # bytes of a text or of a vector
_ATTEMPTS = 100  # another thread may be setting the option, which takes LLVM some microseconds
_VECTOR, _LIST_DEFAULTS, _LIST_POSITIONS, _BITS_POSITIONS = 3, 3 * WORD, 7 * WORD, WORD
_POSITION = 4  # bytes
_SHARED_POINTER = 2 * WORD  # bytes
_SCALARS = {
    Kind.boolean: 1,
    Kind.character: 1,
    Kind.bool_or_default: 4,
    Kind.int32: 4,
    Kind.uint32: 4,
    Kind.float32: 4,
}


def prove_contents(
    name: str, option_type: OptionType, address: int, size: int | None, has_defaults: bool = True
) -> None:
    """The option's value is at `address`; `size` in bytes where that is a variable with a name.

    `has_defaults`: of a list, whether it holds default elements.

    Raises MisfitError if it does not fit, again and again.
    """
    for attempt in range(_ATTEMPTS):
        try:
            return _prove(option_type, address, size, has_defaults)
        except MisfitError as error:
            if attempt == _ATTEMPTS - 1:
                raise MisfitError(f"the value of the option {name} is not of its type: {error}") from error
            time.sleep(0)


def _prove(option_type: OptionType, address: int, size: int | None, has_defaults: bool) -> None:
    kind = option_type.kind
    if not option_type.supported:
        return
    if kind == Kind.string:
        _prove_string(address)
    elif kind == Kind.list:
        _prove_list(option_type.element, address, has_defaults)
    elif kind == Kind.bits:
        _prove_vector(address + _BITS_POSITIONS, _POSITION)
    elif kind == Kind.set:
        walk_tree(address, 1, "a set")
    elif not option_type.external:
        return  # in the object itself, which has been read
    elif kind != Kind.other:
        read_checked(address, _SCALARS.get(kind, WORD), "a value")
    elif size == _SHARED_POINTER:
        for at in load_words(address, 2, "a shared pointer"):
            load_words(at, 2 if at else 0, "what a shared pointer owns")


def _prove_string(address: int) -> None:
    (characters,) = load_words(address, 1, "a string")
    if characters < 3 * WORD:
        raise MisfitError(f"expected a string at {address:#x}, found the pointer {characters:#x}")
    length, capacity, _ = load_words(characters - 3 * WORD, 3, "the head of a string")
    if not length <= capacity <= _MOST:
        raise MisfitError(f"expected a string at {address:#x}, found {length} of {capacity} characters")
    if read_checked(characters, length + 1, "the characters of a string")[-1:] != b"\0":
        raise MisfitError(f"expected a string at {address:#x}, found one that does not end")


def _prove_list(element: Kind, address: int, has_defaults: bool) -> None:
    begin, end = _prove_vector(address, element_size(element) or 1)
    if has_defaults:
        _prove_vector(address + _LIST_DEFAULTS, WORD)
    _prove_vector(address + (_LIST_POSITIONS if has_defaults else _LIST_DEFAULTS), _POSITION)
    if element == Kind.string:
        for at in range(begin, end, WORD):
            _prove_string(at)


def _prove_vector(address: int, element: int) -> tuple[int, int]:
    """(begin, end) of its elements, of so many bytes each."""
    begin, end, storage = load_words(address, _VECTOR, "a vector")
    if not (begin <= end <= storage and (end - begin) % element == 0 and end - begin <= _MOST):
        raise MisfitError(f"expected a vector at {address:#x}, found one from {begin:#x} to {end:#x}")
    read_checked(begin, end - begin, "the elements of a vector")
    return begin, end
