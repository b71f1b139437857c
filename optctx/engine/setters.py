"""Has LLVM's own setters ask the context of their thread: `Option::addOccurrence`, the parser and its resets.

`addOccurrence` is virtual, and nothing calls it but through a table, so the tables lead to a function of
optctx's that has its signature. The others are redirected where they are entered, whatever calls them.
optctx's own parses call LLVM's function by its address and are not seen.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from optctx._native import (
    Image,
    ParserFunction,
    SharedPointers,
    intercept_parser,
    replace_add_occurrence,
    use_registry,
)
from optctx.arch import processor
from optctx.engine.mechanism import add_occurrence_of
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import Fact, find, lacking
from optctx.image.facts.names import PARSE_OPTIONS, REGISTERED_OPTIONS, RESET_OPTIONS, RESET_PARSER
from optctx.image.findings import findings_of

__all__ = ["ParserCode", "parser_code", "setter_tables"]

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
    places = findings_of(image).pointers_to(function)
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


class ParserCode(NamedTuple):
    """`code`: (address, bytes, what is to run instead) of each function of the parser that is intercepted.

    `unavailable`: what of it works for the process inside a context, too, and why.
    """

    code: list[tuple[int, bytes, bytes]]
    unavailable: dict[str, str]


def parser_code(image: Image, index: int, layout: str) -> ParserCode:
    """Finds where the functions of the parser are entered; changes nothing. `layout`: of the registry."""
    use_registry(index, layout)
    found = ParserCode([], {})
    for which, fact in _FUNCTIONS.items():
        function = find(image, fact)
        entrance = None if function is None else processor().find_entrance(image, function.address)
        if function is None:
            found.unavailable[f"{fact.what} inside a scope"] = lacking(image, [fact])
        elif entrance is None:
            found.unavailable[f"{fact.what} inside a scope"] = "it begins with instructions not known here"
        else:
            entry, before = intercept_parser(index, which, function.address)
            code = processor().entrance_code(entrance, entry, before)
            found.code.append((entrance.address, entrance.code, code))
    return found
