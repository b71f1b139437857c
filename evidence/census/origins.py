"""Which of LLVM's libraries a function or an object of an image comes from.

A symbol table names each source file, and a local symbol follows its file. Linkers keep the code and the data
of one source file together, and the files of one archive, so what surrounds a global symbol tells its file.
`libraries.txt` has the library of each file.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from optctx._native import Symbol
from optctx.image.loaded import Image

UNKNOWN = "unknown"


class Origins:
    """The origins of an image's symbols."""

    def __init__(self, image: Image) -> None:
        self._image = image
        files = image.files()
        self._begins = [number for number, _ in files]
        self._libraries = _libraries([name for _, name in files])
        self._end_of_files = image.end_of_files

    def library_of(self, symbol: Symbol | None, *, functions: bool) -> str:
        """The library of a function, or of a variable: "ScalarOpts", "X86CodeGen" or "unknown".

        A function that several files define is in the image once, in one of them.
        """
        if symbol is None:
            return UNKNOWN
        if 0 < symbol.number < self._end_of_files:
            return self._library(symbol)
        around = self._image.local_neighbours(symbol.address, functions)
        first, second = (self._library(each) if each is not None else UNKNOWN for each in around)
        return first if first == second else UNKNOWN

    def _library(self, symbol: Symbol) -> str:
        """The library of a local symbol's file."""
        file = bisect_right(self._begins, symbol.number) - 1
        return self._libraries[file] if file >= 0 else UNKNOWN


def _libraries(names: list[str]) -> list[str]:
    """The library of each file, in the order of the symbol table, which is that of the linker.

    A file whose name no library has, or several, belongs to the library of the files before and after it.
    """
    table = _table()
    stars = tuple(name for name in table if name.endswith("*"))
    known = [_owners(name.removesuffix(".cpp"), table, stars) for name in names]
    found = [libraries[0] if len(libraries) == 1 else "" for libraries in known]
    before, after = _spread(found), _spread(found[::-1])[::-1]
    for at, libraries in enumerate(known):
        around = {before[at], after[at]}
        likely = around.intersection(libraries) if libraries else around
        if not found[at] and len(likely) == 1:
            found[at] = likely.pop()
    return [library or UNKNOWN for library in found]


def _owners(name: str, table: dict[str, tuple[str, ...]], stars: Sequence[str]) -> tuple[str, ...]:
    """The libraries that have a file of that name, or the one of the target whose files begin so."""
    if name in table:
        return table[name]
    for star in stars:
        if name.startswith(star[:-1]):
            own, part = table[star], table.get(f"?{name[len(star) - 1 :]}")
            return own if part is None else (part[0].replace("?", own[0].removesuffix("CodeGen")),)
    return ()


def _spread(libraries: list[str]) -> list[str]:
    """For each place the last library that is known before it."""
    last, spread = "", []
    for library in libraries:
        spread.append(last)
        last = library or last
    return spread


@cache
def _table() -> dict[str, tuple[str, ...]]:
    """File -> the libraries that have one of that name."""
    table: dict[str, list[str]] = {}
    for line in Path(__file__).with_name("libraries.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            library, names = line.split("\t")
            for name in names.split():
                table.setdefault(name, []).append(library)
    return {name: tuple(libraries) for name, libraries in table.items()}
