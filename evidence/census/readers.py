"""The options of llvmlite's LLVM with the code that refers to each: functions, and their instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from optctx._native import OCCURRENCES_AT, POSITION_AT, Site, demangle
from optctx.compiling.facts import OptionFacts, facts
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.image.options import RegisteredOption
from optctx.plan.references import References, read_references
from optctx.plan.refusals import COPIED_FOR_GOOD


@dataclass(frozen=True)
class Reader:
    """A function that refers to an option's storage, and how many of its instructions do what.

    `function`: demangled. `addresses`: instructions that take an address in the storage, by which later code
    can read and write. `occurrences` and `positions`: of the loads, those of how often and where the option
    was given. `copy`: these instructions refer to LLVM's own copy of the value, or to a table of pointers to
    the option.
    """

    function: str
    loads: int = 0
    stores: int = 0
    addresses: int = 0
    occurrences: int = 0
    positions: int = 0
    copy: bool = False


@dataclass(frozen=True)
class CountedOption:
    """An option, and the code that refers to it.

    `callback`: setting it runs a function. `copied_once`: LLVM copies the value once, for the whole process.
    `readers`: run-time code only; registration and static initialisers are left out. None for an option on
    the heap, to which instructions refer through pointers.
    """

    facts: OptionFacts
    callback: bool
    copied_once: bool
    readers: tuple[Reader, ...] | None

    @property
    def functions(self) -> set[str]:
        """The functions that refer to it."""
        return {reader.function for reader in self.readers or ()}

    def sum(self, what: str) -> int:
        """Instructions that refer to its own storage: "loads", "stores", "addresses", "occurrences" or
        "positions".
        """
        return sum(getattr(reader, what) for reader in self.readers or () if not reader.copy)


@dataclass(frozen=True)
class Census:
    """A library, in words, and its options in order of name."""

    title: str
    options: tuple[CountedOption, ...]


def take_census() -> Census:
    """Count. Raises UnsupportedImageError if the process has no LLVM, or its code cannot be decoded."""
    found, engine = facts(), attach()
    code = _Readers(engine)
    once = {name for part in engine.survey.state for name in part.serves}.union(COPIED_FOR_GOOD)
    return Census(found.title, tuple(_counted(engine, each, once, code) for each in found.options))


def _counted(engine: Engine, option: OptionFacts, once: set[str], code: _Readers) -> CountedOption:
    own = engine.resolve(engine.options[option.name])
    return CountedOption(option, own.callback, not once.isdisjoint(own.names), code.of(own))


class _Readers:
    """The functions that refer to options."""

    def __init__(self, engine: Engine) -> None:
        self._options = engine.plan.options.values()
        self._image = engine.image
        self._survey = engine.survey._replace(printing=engine.plan.printing)
        # All of them: a plan keeps only those of options that contexts can set.
        self._code: References = read_references(self._survey)
        # By address of the Option: whether of a copy, and the function -> how many instructions do what.
        self._counts: dict[int, dict[tuple[bool, str], Counter[str]]] = {}
        self._count_all()

    def of(self, option: RegisteredOption) -> tuple[Reader, ...] | None:
        """The functions that refer to an option; None for one to which instructions refer by pointers."""
        if option.size is None and option.address not in self._counts:
            return None
        found = self._counts.get(option.address, {})
        return tuple(
            Reader(function, copy=copy, **counts)
            for (copy, function), counts in sorted(found.items(), key=lambda each: each[0])
        )

    def _count_all(self) -> None:
        """Counts the instructions of each option's own storage, and of what leads to it or is a copy."""
        own, beside = self._storage(), self._beside()
        for site in self._code.sites:
            function = self._image.name_of(site.function)
            for option in own.get(site.region, ()):
                self._count(option, function, _doings(site, site.region == option.address), copy=False)
            for option in beside.get(site.region, ()):
                self._count(option, function, [_doing(site)], copy=True)
        for refusal in self._code.refusals:
            for option in own.get(refusal.region, ()):
                self._count(option, refusal.function, ["addresses"], copy=False)

    def _count(self, option: RegisteredOption, mangled: str, doings: Iterable[str], *, copy: bool) -> None:
        """Functions whose names differ only when mangled (destructors) are counted as one."""
        counts = self._counts.setdefault(option.address, {})
        counts.setdefault((copy, demangle(mangled)), Counter()).update(doings)

    def _storage(self) -> dict[int, tuple[RegisteredOption, ...]]:
        """Region -> the options whose storage it is: one, but for what decides about debug output."""
        found: dict[int, tuple[RegisteredOption, ...]] = {}
        for option in self._options:
            if option.size is not None:
                found[option.address] = (option,)
                if option.variable_size is not None:
                    found[option.variable] = (option,)
        if (printing := self._survey.printing) is not None:
            found[printing.types.address] = printing.options
        return found

    def _beside(self) -> dict[int, list[RegisteredOption]]:
        """Region -> the options whose values it has a copy of, or leads to."""
        by_name = {name: option for option in self._options for name in option.names}
        found: dict[int, list[RegisteredOption]] = {}
        for part in self._survey.state:
            found[part.address] = [by_name[name] for name in part.serves if name in by_name]
        begins = {option.address: option for option in self._options}
        for table in self._code.tables:
            targets = [target for _, target in table.pointers]
            found[table.address] = [begins[target] for target in targets if target in begins]
        return found


def _doings(site: Site, inside: bool) -> Iterator[str]:
    """What the instruction does. `inside`: with the Option itself, not with a variable behind it."""
    yield _doing(site)
    if site.writes and site.reads and not site.takes_address:
        yield "loads"
    if inside and not site.takes_address and site.reads:
        if OCCURRENCES_AT <= site.offset < OCCURRENCES_AT + 2:
            yield "occurrences"
        if POSITION_AT <= site.offset < POSITION_AT + 4:
            yield "positions"


def _doing(site: Site) -> str:
    if site.takes_address:
        return "addresses"
    return "stores" if site.writes else "loads"
