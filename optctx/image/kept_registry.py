"""A survey as plain data, for the next process: what the library's file decides of every option.

What an option holds now is not part of it. The words of its object that the rest follows from are: its
virtual functions and those of its parser, what cl::location points at, its callback. If any of them has
changed, the survey is made anew.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from optctx._native import Kind, MisfitError, words_match
from optctx.image.abi import OptionType
from optctx.image.loaded import Image
from optctx.image.memory import WORD, load_words
from optctx.image.options import Choices, RegisteredOption

Named = Sequence[tuple[tuple[str, ...], int]]  # names and address of each option, in a fixed order

_CHECK = struct.Struct("<IIq")  # image::WordCheck of native/image/words.hpp
_FROM_BASE = 1 << 31  # a word that counts from the library's base, in bytes
_ON_HEAP = -1


def question_of(image: Image, layout: str, named: Named) -> Any:
    """Return what a kept survey must be about: the same names, at the same places of the library."""
    base, contains = image.base, image.contains
    return layout, tuple((names, at - base if contains(at) else _ON_HEAP) for names, at in named)


def pack_registry(image: Image, value_offset: int, options: Sequence[RegisteredOption]) -> Any:
    """Make plain data of the options; None if one leads to places outside the library."""
    index = {option.address: at for at, option in enumerate(options)}
    types: dict[OptionType, int] = {}
    rows = []
    checks = bytearray()
    for at, option in enumerate(options):
        if option.alias_of and not image.contains(option.alias_of):
            return None
        variable = option.variable
        on_heap = bool(variable) and not image.contains(variable)
        for word, value in _decisive_words(option):
            if on_heap and word == value_offset // WORD:
                continue
            relative = image.contains(value)
            number = value - image.base if relative else value - (value >> 63 << 64)
            checks += _CHECK.pack(at, word | _FROM_BASE * relative, number)
        pointers = option.type.registry_parser  # what its choices store; LLVM is asked for them again
        rows.append(
            (
                option.size,
                types.setdefault(option.type, len(types)),
                _pack_choices(option),
                option.callback,
                _ON_HEAP if on_heap else variable and variable - image.base,
                option.variable_size,
                index[option.alias_of] if option.alias_of else -1,
                option.set_default_index,
                option.flag_default_index,
                option.heap_size,
                None if option.choices is None or pointers else option.stored_choices(),
            )
        )
    return value_offset, tuple(map(_pack_type, types)), tuple(rows), bytes(checks)


def unpack_registry(image: Image, named: Named, kept: Any) -> tuple[int, list[RegisteredOption]] | None:
    """Return (offset of values, options); None if the options have become others since."""
    try:
        return _unpack(image, named, *kept)
    except MisfitError:
        return None


def _unpack(
    image: Image, named: Named, value_offset: int, types: Any, rows: Any, checks: bytes
) -> tuple[int, list[RegisteredOption]] | None:
    addresses = [address for _, address in named]
    if not words_match(image, addresses, checks):
        return None
    known_types = [_unpack_type(each) for each in types]
    options = []
    for (names, address), row in zip(named, rows, strict=True):
        size, of_type, choices, callback, variable, variable_size, alias, *rest = row
        set_default, flag_default, heap_size, stored = rest
        options.append(
            RegisteredOption(
                names,
                address,
                size,
                known_types[of_type],
                value_offset,
                None if choices is None else _unpack_choices(address, choices),
                callback,
                _variable(image, address + value_offset, variable),
                variable_size,
                addresses[alias] if alias >= 0 else 0,
                set_default,
                flag_default,
                heap_size,
                stored,
            )
        )
    return value_offset, options


def _variable(image: Image, pointer: int, kept: int) -> int:
    """Find what cl::location points at, where the `pointer` is; 0 for nothing."""
    if kept != _ON_HEAP:
        return kept and kept + image.base
    (variable,) = load_words(pointer, 1, "a pointer to a variable")
    if image.contains(variable):
        raise MisfitError(f"expected a variable on the heap, found one in the library at {variable:#x}")
    return variable


def _decisive_words(option: RegisteredOption) -> list[tuple[int, int]]:
    """Return (index, word) of each word of the object that the rest follows from."""
    size = option.size or option.heap_size or 0
    indexes = {0}
    if option.type.alias or option.type.external:
        indexes.add(option.value_offset // WORD)
    if option.choices is not None:
        indexes.add((option.choices.parser - option.address) // WORD)
    manager = size // WORD - 2  # of the callback; its invoker follows, and means nothing without one
    if size and not option.type.alias:
        indexes.update((manager, manager + 1))
    words = load_words(option.address, max(indexes) + 1, "an option")
    if size and not words[manager]:
        indexes.discard(manager + 1)
    return [(index, words[index]) for index in sorted(indexes)]


def _pack_choices(option: RegisteredOption) -> Any:
    choices = option.choices
    if choices is None:
        return None
    at = choices.parser - option.address
    return at, choices.count_index, choices.name_index, choices.help_index, choices.value_index


def _unpack_choices(address: int, kept: Any) -> Choices:
    at, *indexes = kept
    return Choices(address + at, *indexes)


def _pack_type(of: OptionType) -> tuple[Any, ...]:
    return of.kind.value, of.element.value, of.external, of.alias, of.registry_parser, of.supported


def _unpack_type(kept: tuple[Any, ...]) -> OptionType:
    kind, element, *rest = kept
    return OptionType(Kind(kind), Kind(element), *rest)
