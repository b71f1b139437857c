"""What object files define and need, as nm tells: which files know options, and which a change reaches."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evidence.shell import StepError, run

Member = tuple[str, str]
"""An archive's name without `lib` and `.a`, and an object's file name in it."""

_TAG = "B6optctx"
_STRONG = frozenset("TDBRS")
_DEFINED = _STRONG | frozenset("WVu")
_OPTION = re.compile(r"_ZN4llvm2cl6Option\d|_ZTVN4llvm2cl6OptionE")


@dataclass
class Symbols:
    """Names that one object file defines and needs."""

    strong: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    needed: set[str] = field(default_factory=set)


Library = dict[Member, Symbols]


def read_objects(files: Iterable[Path]) -> Library:
    """The symbols of every object in archives and object files. Raises StepError."""
    library: Library = {}
    names = list(files)
    if not names:
        return library
    for line in run(["nm", "-A", "--format=posix", *names]).splitlines():
        found = _LINE.match(line)
        if not found:
            raise StepError(f"nm wrote a line that is no symbol: {line[:200]!r}")
        file, inside, name, kind = found.groups()
        _add(library.setdefault(_member(file, inside), Symbols()), name, kind)
    return library


# `archive[member]: name kind ...` or `object: name kind ...`
_LINE = re.compile(r"([^\[]*?)(?:\[([^]]+)\])?: (\S+) (\S)")


def _member(file: str, inside: str | None) -> Member:
    if inside is None:
        return "", file
    return file.rsplit("/", 1)[-1].removeprefix("lib").removesuffix(".a"), inside


def _add(symbols: Symbols, name: str, kind: str) -> None:
    if kind in "Uwv":
        symbols.needed.add(name)
    elif kind in _DEFINED:
        symbols.defined.add(name)
        if kind in _STRONG:
            symbols.strong.add(name)


def reachable(library: Library, roots: Iterable[str]) -> set[Member]:
    """The members that a linker takes from archives to resolve the symbols named."""
    definer: dict[str, Member] = {}
    for member, symbols in library.items():
        for name in symbols.defined:
            definer.setdefault(name, member)
    taken: set[Member] = set()
    open_names = list(roots)
    while open_names:
        found = definer.get(open_names.pop())
        if found is not None and found not in taken:
            taken.add(found)
            open_names.extend(library[found].needed - library[found].defined)
    return taken


def option_members(library: Library) -> set[Member]:
    """The members that construct options, or name what only options have."""
    return {
        member
        for member, symbols in library.items()
        if any(_OPTION.match(name) for name in symbols.needed | symbols.defined)
    }


def lost_symbols(stock: Library, rebuilt: Mapping[Member, Symbols]) -> set[str]:
    """Strong symbols that stock objects define and rebuilt ones do not: their types carry the tag now."""
    lost: set[str] = set()
    for member, symbols in rebuilt.items():
        lost |= stock[member].strong - symbols.defined
    return lost


def missing_symbols(stock: Library, rebuilt: Mapping[Member, Symbols]) -> set[str]:
    """What stock objects call the tagged names that rebuilt objects need and none of them defines."""
    defined = {name for symbols in rebuilt.values() for name in symbols.defined}
    needed = {name for symbols in rebuilt.values() for name in symbols.needed}
    return {untagged(name) for name in needed - defined if _TAG in name}


def untagged(name: str) -> str:
    """The stock name: `_ZN1a4FlagB6optctxE` -> `_ZN1a4FlagE`, `_Z4FlagB6optctx` -> `Flag`."""
    plain = name.replace(_TAG, "")
    outside = re.fullmatch(r"_Z(\d+)(\w+)", plain)
    # A variable outside every namespace has no mangled name.
    return outside[2] if outside and len(outside[2]) == int(outside[1]) else plain


def definers(library: Library, names: set[str]) -> set[Member]:
    """The members that define one of the names."""
    return {member for member, symbols in library.items() if symbols.defined & names}


def users(library: Library, names: set[str], among: set[Member]) -> set[Member]:
    """The members among these that need one of the names."""
    return {member for member in among if library[member].needed & names}


def by_archive(members: Iterable[Member]) -> dict[str, list[str]]:
    """The members' file names by archive, sorted."""
    found: dict[str, list[str]] = defaultdict(list)
    for archive, name in sorted(members):
        found[archive].append(name)
    return dict(found)
