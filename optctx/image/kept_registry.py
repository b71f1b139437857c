"""A survey as plain data, for the next process: what the library's file decides of every option.

What an option holds now is not part of it. The words of its object that the rest follows from are: its
virtual functions and those of its parser, what cl::location points at, its callback. If any of them has
changed, the survey is made anew.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from optctx._native import Kind, words_match
from optctx.image.abi import OptionType
from optctx.image.loaded import Image
from optctx.image.memory import WORD, MisfitError, load_words
from optctx.image.options import Choices, ElementNames, OptionRecord

__all__ = ["pack_registry", "question_of", "unpack_registry"]

Named = Sequence[tuple[tuple[str, ...], int]]  # names and address of each option, in a fixed order

_CHECK = struct.Struct("<IIq")  # image::WordCheck of native/image/words.hpp
_FROM_BASE = 1 << 31  # a word that counts from the library's base, in bytes
_ON_HEAP = -1


def question_of(image: Image, layout: str, named: Named) -> Any:
    """What a kept survey must be about: the same names, at the same places of the library."""
    base, contains = image.base, image.contains
    return layout, tuple((names, at - base if contains(at) else _ON_HEAP) for names, at in named)


def pack_registry(image: Image, value_offset: int, records: Sequence[OptionRecord]) -> Any:
    """None for a survey that cannot be kept, because an option leads to places outside the library."""
    index = {record.address: at for at, record in enumerate(records)}
    types: dict[OptionType, int] = {}
    rows = []
    checks = bytearray()
    for at, record in enumerate(records):
        if record.alias_of and not image.contains(record.alias_of):
            return None
        on_heap = bool(record.variable) and not image.contains(record.variable)
        for word, value in _decisive_words(record, value_offset):
            if on_heap and word == value_offset // WORD:
                continue
            relative = image.contains(value)
            number = value - image.base if relative else value - (value >> 63 << 64)
            checks += _CHECK.pack(at, word | _FROM_BASE * relative, number)
        pointers = record.type.registry_parser  # what its choices store; LLVM is asked for them again
        rows.append(
            (
                record.size,
                types.setdefault(record.type, len(types)),
                _pack_choices(record),
                record.callback,
                _ON_HEAP if on_heap else record.variable and record.variable - image.base,
                record.variable_size,
                record.has_defaults,
                index[record.alias_of] if record.alias_of else -1,
                record.set_default_index,
                record.flag_default_index,
                record.heap_size,
                None if record.choices is None or pointers else record.stored_choices(),
            )
        )
    return value_offset, tuple(map(_pack_type, types)), tuple(rows), bytes(checks)


def unpack_registry(image: Image, named: Named, kept: Any) -> tuple[int, list[OptionRecord]] | None:
    """(offset of values, records); None if the options have become others since."""
    try:
        return _unpack(image, named, *kept)
    except MisfitError:
        return None


def _unpack(
    image: Image, named: Named, value_offset: int, types: Any, rows: Any, checks: bytes
) -> tuple[int, list[OptionRecord]] | None:
    addresses = [address for _, address in named]
    if not words_match(image, addresses, checks):
        return None
    known_types = [_unpack_type(each) for each in types]
    records = []
    for (names, address), row in zip(named, rows, strict=True):
        size, of_type, choices, callback, variable, variable_size, has_defaults, alias, *rest = row
        set_default, flag_default, heap_size, stored = rest
        records.append(
            OptionRecord(
                names,
                address,
                size,
                known_types[of_type],
                None if choices is None else _unpack_choices(address, choices),
                callback,
                _variable(image, address + value_offset, variable),
                variable_size,
                has_defaults,
                addresses[alias] if alias >= 0 else 0,
                set_default,
                flag_default,
                heap_size,
                stored,
            )
        )
    return value_offset, records


def _variable(image: Image, pointer: int, kept: int) -> int:
    """What cl::location points at, where the `pointer` is; 0 for nothing."""
    if kept != _ON_HEAP:
        return kept and kept + image.base
    (variable,) = load_words(pointer, 1, "a pointer to a variable")
    if image.contains(variable):
        raise MisfitError(f"expected a variable on the heap, found one in the library at {variable:#x}")
    return variable


def _decisive_words(record: OptionRecord, value_offset: int) -> list[tuple[int, int]]:
    """(index, word) of each word of the object that the record follows from."""
    size = record.size or record.heap_size or 0
    indexes = {0}
    if record.type.alias or record.type.external:
        indexes.add(value_offset // WORD)
    if isinstance(record.choices, Choices):
        indexes.add((record.choices.parser - record.address) // WORD)
    manager = size // WORD - 2  # of the callback; its invoker follows, and means nothing without one
    if size and not record.type.alias:
        indexes.update((manager, manager + 1))
    words = load_words(record.address, max(indexes) + 1, "an option")
    if size and not words[manager]:
        indexes.discard(manager + 1)
    return [(index, words[index]) for index in sorted(indexes)]


def _pack_choices(record: OptionRecord) -> Any:
    choices = record.choices
    if isinstance(choices, Choices):
        at = choices.parser - record.address
        return at, choices.count_index, choices.name_index, choices.help_index, choices.value_index
    return None if choices is None else choices.by_value


def _unpack_choices(address: int, kept: Any) -> Choices | ElementNames:
    if isinstance(kept, dict):
        return ElementNames(kept)
    at, *indexes = kept
    return Choices(address + at, *indexes)


def _pack_type(of: OptionType) -> tuple[Any, ...]:
    return of.kind.value, of.element.value, of.enum, of.external, of.alias, of.registry_parser, of.supported


def _unpack_type(kept: tuple[Any, ...]) -> OptionType:
    kind, element, *rest = kept
    return OptionType(Kind(kind), Kind(element), *rest)
