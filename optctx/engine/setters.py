"""Has LLVM's own setters ask the context of their thread: `Option::addOccurrence`, the parser and its resets.

`addOccurrence` is virtual, and nothing calls it but through a table, so the tables lead to a function of
optctx's that has its signature. The others are redirected where they are entered, whatever calls them.
optctx's own parses call LLVM's function by its address and are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from optctx._native import (
    Image,
    ParserFunction,
    SharedPointers,
    Span,
    find_data_pointers,
    intercept_parser,
    replace_add_occurrence,
    use_registry,
)
from optctx.arch import processor
from optctx.engine.mechanism import add_occurrence_of
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import Fact, find
from optctx.image.facts.names import PARSE_OPTIONS, REGISTERED_OPTIONS, RESET_OPTIONS, RESET_PARSER

__all__ = ["parser_code", "setter_tables"]

_FUNCTIONS: Final[dict[ParserFunction, Fact[Any]]] = {
    ParserFunction.parse: PARSE_OPTIONS,
    ParserFunction.reset_all: RESET_OPTIONS,
    ParserFunction.reset_parser: RESET_PARSER,
    ParserFunction.registered: REGISTERED_OPTIONS,
}


def setter_tables(image: Image, index: int) -> SharedPointers:
    """The pointers to `addOccurrence` in tables of virtual functions; changes none yet.

    Raises UnsupportedImageError if the tables are not as expected.
    """
    function = add_occurrence_of(image)
    places = find_data_pointers(image, [Span(function, 1)])
    if not places:
        raise UnsupportedImageError(
            f"{image.path}: expected pointers to Option::addOccurrence in tables of virtual functions, found "
            "none"
        )
    replacement = replace_add_occurrence(index, function)
    try:
        return SharedPointers([(at, target, replacement) for at, target in places])
    except RuntimeError as error:
        raise UnsupportedImageError(f"{image.path}: {error}; nothing was changed") from error


def parser_code(image: Image, index: int, layout: str) -> Iterator[tuple[int, bytes, bytes]]:
    """(address, bytes, what is to run instead) for each function of the parser that can be intercepted.

    Without it, values that are given inside a context stay there, but a reset works for the process.
    `layout`: of the registry.
    """
    use_registry(index, layout)
    for which, fact in _FUNCTIONS.items():
        found = find(image, fact)
        entrance = None if found is None else processor().find_entrance(image, found.address)
        if found is not None and entrance is not None:
            entry, before = intercept_parser(index, which, found.address)
            yield entrance.address, entrance.code, processor().entrance_code(entrance, entry, before)
