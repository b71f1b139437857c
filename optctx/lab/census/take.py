"""Takes the census of the library that this process is attached to, from what is known of its code."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from optctx._native import OCCURRENCES_AT, POSITION_AT, Kind, demangle, option_at
from optctx.arch.processor import Site
from optctx.engine.attach import attach, is_default
from optctx.engine.engine import Engine
from optctx.facts.origins import UNKNOWN, Origins
from optctx.image.abi import type_name
from optctx.image.options import RegisteredOption
from optctx.lab.census.facts import Census, OptionFacts, Reader
from optctx.lab.census.signature import signature_of
from optctx.plan.references import References, read_references
from optctx.plan.refusals import COPIED_FOR_GOOD
from optctx.values.read_values import value_text
from optctx.values.registry import Option

__all__ = ["census"]

_WHAT = ("loads", "stores", "addresses", "occurrences", "positions")
_FORMS = {Kind.list: "list", Kind.bits: "bits", Kind.set: "set", Kind.string: "string", Kind.other: "class"}


def census() -> Census:
    """Take the census of llvmlite's LLVM: every option, its storage, and the code that refers to it.

    Attaches at first use and changes nothing else. Static: the same library gives the same census. Takes
    about a second.

    Raises:
        UnsupportedImageError: The process has no LLVM, its layout does not check out, or its code cannot be
            decoded.
    """
    return _Taking(attach()).census()


@dataclass
class _Tally:
    """Instructions of one function that refer to one option."""

    number: int  # of the function's symbol
    function: str  # demangled
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_WHAT, 0))


class _Taking:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._image = engine.image
        self._origins = Origins(engine.image)
        self._survey = engine.survey._replace(printing=engine.plan.printing)
        self._code = self._references()
        # By address of the Option, function, and whether they are of a copy.
        self._tallies: dict[int, dict[tuple[str, bool], _Tally]] = {}
        self._count()

    def census(self) -> Census:
        llvm, llvmlite = _versions() if is_default(self._engine) else ("", "")
        facts = [self._facts(option) for option in self._engine.plan.options.values()]
        return Census(
            os.path.basename(self._image.path),
            self._image.build_id,
            llvm,
            llvmlite,
            tuple(sorted(facts, key=lambda each: each.name)),
        )

    def _references(self) -> References:
        """All references. A plan keeps only those of options that contexts can set."""
        return read_references(self._survey)

    def _count(self) -> None:
        """Counts the instructions of each option's own storage, and of what leads to it or is a copy."""
        own, beside = self._storage(), self._beside()
        for site in self._code.sites or ():
            option = own.get(site.region)
            if option is not None:
                counts = self._counts(option, site.function, site.number, copy=False)
                for what in _doings(site, site.region == option.address):
                    counts[what] += 1
            for option in beside.get(site.region, ()):
                self._counts(option, site.function, site.number, copy=True)[_doing(site)] += 1
        for refusal in self._code.refusals:
            if refusal.region in own:
                symbol = self._image.named(refusal.function)
                number = symbol.number if symbol is not None else 0
                self._counts(own[refusal.region], refusal.function, number, copy=False)["addresses"] += 1

    def _counts(self, option: RegisteredOption, mangled: str, number: int, *, copy: bool) -> dict[str, int]:
        """Of a function. Those whose names differ only when mangled (destructors) are counted as one."""
        function = demangle(mangled)
        tallies = self._tallies.setdefault(option.address, {})
        return tallies.setdefault((function, copy), _Tally(number, function)).counts

    def _storage(self) -> dict[int, RegisteredOption]:
        """Region -> the option whose storage it is."""
        found = {}
        for option in self._engine.plan.options.values():
            if option.size is not None:
                found[option.address] = option
                if option.variable_size is not None:
                    found[option.variable] = option
        if (printing := self._survey.printing) is not None:
            found[printing.types.address] = printing.option
        return found

    def _beside(self) -> dict[int, list[RegisteredOption]]:
        """Region -> the options whose values it has a copy of, or leads to."""
        by_name = {name: option for option in self._engine.plan.options.values() for name in option.names}
        found: dict[int, list[RegisteredOption]] = {}
        for part in self._survey.state:
            found[part.address] = [by_name[name] for name in part.serves if name in by_name]
        begins = {option.address: option for option in self._engine.plan.options.values()}
        for table in self._code.tables:
            targets = [target for _, target in table.pointers]
            found[table.address] = [begins[target] for target in targets if target in begins]
        return found

    def _facts(self, option: RegisteredOption) -> OptionFacts:
        engine = self._engine
        view = Option(engine, option, option.name)
        symbol = self._image.object_at(option.address) if option.size is not None else None
        origin = self._origins.of_object(symbol) if symbol is not None else None
        own = engine.resolve(option)
        return OptionFacts(
            name=option.name,
            names=option.names,
            type="alias" if option.alias_of else type_name(option.type.kind),
            form="alias" if option.alias_of else _FORMS.get(option.type.kind, "scalar"),
            storage=_storage_of(option),
            categories=tuple(option_at(option.address).categories),
            file=origin.file if origin is not None else "",
            library=origin.library if origin is not None else UNKNOWN,
            default=value_text(view.default),
            scope=own.scope,
            reason=_stable(own.reason),
            alias_of=own.name if option.alias_of else "",
            callback=option.callback,
            copied_once=any(name in self._served_once() for name in option.names),
            readers=self._readers(option),
        )

    def _served_once(self) -> set[str]:
        return {name for part in self._survey.state for name in part.serves}.union(COPIED_FOR_GOOD)

    def _readers(self, option: RegisteredOption) -> tuple[Reader, ...] | None:
        tallies = self._tallies.get(option.address, {})
        if option.size is None and not tallies:
            return None
        found = [self._reader(tally, copy) for (_, copy), tally in tallies.items()]
        return tuple(sorted(found, key=lambda reader: (reader.copy, reader.function)))

    def _reader(self, tally: _Tally, copy: bool) -> Reader:
        symbol = self._image.numbered(tally.number)
        library = self._origins.of_function(symbol).library if symbol is not None else UNKNOWN
        constructor = signature_of(tally.function).constructs
        return Reader(tally.function, library, **tally.counts, constructor=bool(constructor), copy=copy)


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


def _storage_of(option: RegisteredOption) -> str:
    if option.size is None:
        return "heap"
    return "external" if option.type.external else "internal"


def _stable(reason: str) -> str:
    """A reason without addresses, which differ between processes."""
    return re.sub(r" at 0x[0-9a-f]+", "", reason)


def _versions() -> tuple[str, str]:
    import llvmlite
    from llvmlite import binding

    return ".".join(map(str, binding.llvm_version_info)), llvmlite.__version__
