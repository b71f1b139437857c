"""Takes the facts of the library that an engine is attached to, from what is known of its code."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from optctx._native import OCCURRENCES_AT, POSITION_AT, Kind, Site, demangle
from optctx.engine.attach import is_default
from optctx.engine.engine import Engine
from optctx.facts.origins import Origins
from optctx.facts.record import Choice, Facts, OptionFacts, Plain, Reader
from optctx.image.abi import type_name
from optctx.image.options import RegisteredOption
from optctx.plan.references import References, read_references
from optctx.plan.refusals import COPIED_FOR_GOOD
from optctx.values.read_values import Value
from optctx.values.registry import Option


def take(engine: Engine, readers: bool) -> Facts:
    """Take the facts of every option. `readers`: with the code that refers to it.

    Raises UnsupportedImageError if the code cannot be decoded.
    """
    image = engine.image
    code = _Readers(engine) if readers else None
    origins = code.origins if code is not None else Origins(image)
    once = {name for part in engine.survey.state for name in part.serves}.union(COPIED_FOR_GOOD)
    llvm, llvmlite = _versions() if is_default(engine) else ("", "")
    names = sorted(engine.options)
    found = (_facts(engine, name, origins, once, code) for name in names)
    return Facts(
        library=os.path.basename(image.path),
        build_id=image.build_id,
        llvm=llvm,
        llvmlite=llvmlite,
        options=tuple(found),
    )


def _facts(engine: Engine, name: str, origins: Origins, once: set[str], code: _Readers | None) -> OptionFacts:
    option = engine.resolve(engine.options[name])
    view = Option(engine, engine.options[name], name)
    symbol = engine.image.object_at(option.address) if option.size is not None else None
    origin = origins.of(symbol, functions=False)
    return OptionFacts(
        name=name,
        type=view.type,
        default=_plain(view.default),
        value=_plain(view.value),
        help=_line(view.help),
        choices=_choices(option, view),
        alias_of=option.name if name != option.name else "",
        aliases=view.aliases,
        categories=view.categories,
        library=origin.library,
        file=origin.file,
        element=type_name(option.type.element) if option.type.kind == Kind.list else "",
        hidden=view.hidden,
        storage=view.storage,
        scope=view.scope,
        reason=re.sub(r" at 0x[0-9a-f]+", "", view.reason),  # addresses differ between processes
        trust=view.trust,
        trusted_values=view.trusted_values,
        trust_reason=view.trust_reason,
        callback=option.callback,
        copied_once=not once.isdisjoint(option.names),
        readers=code.of(option) if code is not None else None,
    )


def _plain(value: Value) -> Plain:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def _line(text: str) -> str:
    return " ".join(text.split())


def _choices(option: RegisteredOption, view: Option) -> dict[str, Choice]:
    helps = view.choices
    if option.type.registry_parser or not helps:
        return {name: Choice(_line(text)) for name, text in helps.items()}
    names, stored, _ = option.stored_choices()
    numbers = dict(zip(names, stored, strict=True))
    return {name: Choice(_line(text), numbers.get(name)) for name, text in helps.items()}


class _Readers:
    """The functions that refer to options."""

    def __init__(self, engine: Engine) -> None:
        self.origins = Origins(engine.image)
        self._options = engine.plan.options.values()
        self._image = engine.image
        self._survey = engine.survey._replace(printing=engine.plan.printing)
        # All of them: a plan keeps only those of options that contexts can set.
        self._code: References = read_references(self._survey)
        # By address of the Option: whether of a copy, and the function -> how many instructions do what.
        self._counts: dict[int, dict[tuple[bool, str], Counter[str]]] = {}
        self._libraries: dict[tuple[int, bool, str], str] = {}  # of those functions
        self._count_all()

    def of(self, option: RegisteredOption) -> tuple[Reader, ...] | None:
        """The functions that refer to an option; None for one to which instructions refer by pointers."""
        if option.size is None and option.address not in self._counts:
            return None
        found = self._counts.get(option.address, {})
        return tuple(
            Reader(function, self._libraries[option.address, copy, function], copy=copy, **counts)
            for (copy, function), counts in sorted(found.items(), key=lambda each: each[0])
        )

    def _count_all(self) -> None:
        """Counts the instructions of each option's own storage, and of what leads to it or is a copy."""
        own, beside = self._storage(), self._beside()
        for site in self._code.sites:
            function = self._image.name_of(site.function)
            for option in own.get(site.region, ()):
                doings = _doings(site, site.region == option.address)
                self._count(option, function, site.function, doings, copy=False)
            for option in beside.get(site.region, ()):
                self._count(option, function, site.function, [_doing(site)], copy=True)
        for refusal in self._code.refusals:
            for option in own.get(refusal.region, ()):
                symbol = self._image.named(refusal.function)
                number = symbol.number if symbol is not None else 0
                self._count(option, refusal.function, number, ["addresses"], copy=False)

    def _count(
        self, option: RegisteredOption, mangled: str, number: int, doings: Iterable[str], *, copy: bool
    ) -> None:
        """Functions whose names differ only when mangled (destructors) are counted as one."""
        function = demangle(mangled)
        counts = self._counts.setdefault(option.address, {})
        if (copy, function) not in counts:
            counts[copy, function] = Counter()
            library = self.origins.of(self._image.numbered(number), functions=True).library
            self._libraries[option.address, copy, function] = library
        counts[copy, function].update(doings)

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


def _versions() -> tuple[str, str]:
    import llvmlite
    from llvmlite import binding

    return ".".join(map(str, binding.llvm_version_info)), llvmlite.__version__
