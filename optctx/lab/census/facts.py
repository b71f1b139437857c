"""What is known of one option and of its readers, and the census of a library: plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

__all__ = ["FLAGS", "Census", "OptionFacts", "Reader"]


@dataclass(frozen=True)
class Reader:
    """A function that refers to an option's storage, and how many of its instructions do what.

    `function`: demangled. `library`: of LLVM, or "unknown". `addresses`: instructions that take an address in
    the storage, by which later code can read and write. `occurrences` and `positions`: of the loads, those of
    how often and where the option was given. `constructor`: the function is one. `copy`: these instructions
    refer to LLVM's own copy of the value, or to a table of pointers to the option.
    """

    function: str
    library: str
    loads: int = 0
    stores: int = 0
    addresses: int = 0
    occurrences: int = 0
    positions: int = 0
    constructor: bool = False
    copy: bool = False


@dataclass(frozen=True)
class OptionFacts:
    """One option of a library.

    `names`: all of it, the first included. `type`: as in `Option.type`, or "alias". `form`: scalar, string,
    class (another one), list, bits or set. `storage`: internal (in the Option), external (`cl::location`) or
    heap. `file` and `library`: where it is defined; empty and "unknown" where that does not follow.
    `default`: as text. `scope` and `reason`: as in `Option`. `copied_once`: LLVM copies the value once, for
    the whole process. `callback`: setting the option runs a function. `readers`: run-time code only;
    registration and static initialisers are left out. None for an option on the heap, to which instructions
    refer through pointers.
    """

    name: str
    names: tuple[str, ...]
    type: str
    form: str
    storage: str
    categories: tuple[str, ...]
    file: str
    library: str
    default: str
    scope: str
    reason: str
    alias_of: str
    callback: bool
    copied_once: bool
    readers: tuple[Reader, ...] | None

    def sum(self, what: str) -> int:
        """Instructions that refer to its own storage: "loads", "stores", "addresses", "occurrences" or
        "positions".
        """
        return sum(getattr(reader, what) for reader in self.readers or () if not reader.copy)

    @property
    def never_read(self) -> bool:
        """Whether no run-time code refers to it. False for an alias, and where readers are not known."""
        return self.readers == () and not self.alias_of

    @property
    def in_constructors(self) -> bool:
        """Whether a constructor refers to it: LLVM reads it while it makes an object."""
        return any(reader.constructor for reader in self.readers or ())

    @property
    def only_in_constructors(self) -> bool:
        """Whether nothing but constructors refers to it."""
        return bool(self.readers) and all(reader.constructor for reader in self.readers or ())

    @property
    def written(self) -> bool:
        """Whether LLVM's own code stores to it by name. It may also write through an address that it took."""
        return self.sum("stores") > 0

    @property
    def address_taken(self) -> bool:
        """Whether LLVM's code takes an address in its storage."""
        return self.sum("addresses") > 0

    @property
    def occurrences_queried(self) -> bool:
        """Whether LLVM asks how often the option was given."""
        return self.sum("occurrences") > 0

    @property
    def refused(self) -> bool:
        """Whether a context cannot set it."""
        return self.scope == "process"

    def flags(self) -> list[str]:
        """Those of `FLAGS` that hold."""
        return [name for name, holds in FLAGS.items() if holds(self)]


FLAGS: dict[str, Callable[[OptionFacts], bool]] = {
    "never read": lambda facts: facts.never_read,
    "readers not known": lambda facts: facts.readers is None,
    "read in constructors": lambda facts: facts.in_constructors,
    "read only in constructors": lambda facts: facts.only_in_constructors,
    "copied once": lambda facts: facts.copied_once,
    "written by LLVM": lambda facts: facts.written,
    "address taken": lambda facts: facts.address_taken,
    "callback": lambda facts: facts.callback,
    "occurrences queried": lambda facts: facts.occurrences_queried,
    "position queried": lambda facts: facts.sum("positions") > 0,
    "refused": lambda facts: facts.refused,
}


@dataclass(frozen=True)
class Census:
    """The options of one LLVM library, in order of name.

    `library`: name of its file. `build_id`: of the library. `llvm`: the version that llvmlite gives, empty
    for another library. `llvmlite`: the release, likewise.
    """

    library: str
    build_id: str
    llvm: str
    llvmlite: str
    options: tuple[OptionFacts, ...]

    def only(self, keep: Callable[[OptionFacts], bool]) -> Census:
        """The census of some of the options."""
        kept = tuple(facts for facts in self.options if keep(facts))
        return Census(self.library, self.build_id, self.llvm, self.llvmlite, kept)

    @property
    def totals(self) -> dict[str, dict[str, int]]:
        """Subject -> what -> number: of instructions under "instructions", elsewhere of options."""
        real = [facts for facts in self.options if not facts.alias_of]
        readers = {reader.function for facts in real for reader in facts.readers or ()}
        return {
            "options": {
                "names": sum(len(facts.names) for facts in self.options),
                "options": len(real),
                "aliases": len(self.options) - len(real),
                "functions that read them": len(readers),
            },
            "instructions": {
                what: sum(facts.sum(what) for facts in real)
                for what in ("loads", "stores", "addresses", "occurrences", "positions")
            },
            "flags": {flag: sum(holds(facts) for facts in real) for flag, holds in FLAGS.items()},
            "scope": _counts(facts.scope for facts in real),
            "refused because": _counts(facts.reason for facts in real if facts.refused),
            "type": _counts(facts.type for facts in real),
            "form": _counts(facts.form for facts in real),
            "storage": _counts(facts.storage for facts in real),
            "library": _counts(facts.library for facts in real),
            "category": _counts(category for facts in real for category in facts.categories),
        }


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items(), key=lambda item: (-item[1], item[0])))
