"""What is known of the code that reads options: where it does, who reads, what of it cannot be redirected.

A loop over an array compares with an address past its end, which may be that of an option. It is the array's
own end (`DataLayout::reset` of LLVM 15), or some bytes more if the loop's pointer stays at a member of the
elements (`shouldScheduleAdjacent` of LLVM 15, for PowerPC). Redirected, such a loop never ends. An address of
an option's storage in a function that also refers to an array beside it is refused, and the option with it.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from optctx._native import Site, Sites, Symbol
from optctx.arch import processor
from optctx.arch.code import CodeReferences, SiteRefusal
from optctx.errors import UnsupportedImageError
from optctx.image.facts.mangled_names import GUARD, OPTION_CONSTRUCTOR, OTHER_STREAMS
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.image.storage_beside import PointerTable, Printing, bound_elsewhere, find_pointers
from optctx.image.survey import Survey

_REACH = 4096  # bytes; more than an element of an array has
_STEP = 8  # bytes, over padding
_LARGEST_GAP = 1 << 16  # bytes
_REASON = "it may mean the end of an array beside that storage, which the function refers to as well"


def find_ends(
    image: Image, sites: Sites, sizes: Mapping[int, int], tables: AbstractSet[int]
) -> list[SiteRefusal]:
    """Refuse the sites whose address may be the end of an array beside an option.

    `sizes`: bytes of every region by its address. Options and variables are not arrays; `tables` are. A table
    is in the library only because some instruction refers to it, so its only reference is its own.
    """
    taking = [site for site in sites if site.takes_address]
    arrays: dict[int, Symbol | _Gap] = {}
    beside: dict[int, set[int]] = {}  # region -> addresses of arrays
    for region in {site.region for site in taking}:
        for symbol in _objects_beside(image, region, sizes[region]):
            if not symbol.name.startswith((GUARD, *OTHER_STREAMS)) and (
                symbol.address in tables or symbol.address not in sizes
            ):
                arrays[symbol.address] = symbol
                beside.setdefault(region, set()).add(symbol.address)
    referred = _referred(image, arrays, {site.function for site in taking if site.region in beside})
    references = Counter(site.region for site in sites)
    unsure = []
    for site in taking:
        ambiguous = any(
            _may_be_an_end(site, arrays[array], offsets)
            for array in beside.get(site.region, ())
            if (offsets := referred.get((site.function, array)))
        )
        if ambiguous and not (site.region in tables and references[site.region] == 1):
            function, code = image.name_of(site.function), image.initial_bytes(site.address, site.length)
            unsure.append(SiteRefusal(site.address, site.region, function, code, _REASON))
    return unsure


class _Gap(NamedTuple):
    """Storage beside known objects in a stripped library: for all that is known, one array."""

    address: int
    size: int
    name: str = ""


def _may_be_an_end(site: Site, array: Symbol | _Gap, offsets: AbstractSet[int]) -> bool:
    """Tell whether a loop over the array can meet the site's address.

    `offsets`: in the array, which the function refers to. The loop begins at one of them, as many bytes into
    an element as its end is past the array.
    """
    target, end = site.region + site.offset, array.address + array.size
    if target >= end:
        past = target - end
        return past == 0 or (past < array.size // 2 and (site.offset > 0 or past <= max(offsets)))
    return array.address - target <= array.size // 2


def _objects_beside(image: Image, region: int, size: int) -> Iterator[Symbol | _Gap]:
    for begin, step in ((region - 1, -_STEP), (region + size, _STEP)):
        at = begin
        while abs(at - begin) < _REACH:
            symbol = image.object_at(at) or (_gap(image, at, step) if image.is_stripped else None)
            if symbol is None:
                at += step
                continue
            yield symbol
            at = symbol.address - 1 if step < 0 else symbol.address + symbol.size


def _gap(image: Image, first: int, step: int) -> _Gap:
    """Return what begins or ends with the byte `first`, up to a known object."""
    at, symbol = first, None
    while symbol is None and abs(at - first) < _LARGEST_GAP:
        at += step
        symbol = image.object_at(at)
    if step < 0:
        begin = at if symbol is None else symbol.address + symbol.size
        return _Gap(begin, first + 1 - begin)
    return _Gap(first, (at if symbol is None else symbol.address) - first)


def _referred(
    image: Image, arrays: Mapping[int, Symbol | _Gap], functions: AbstractSet[int]
) -> dict[tuple[int, int], set[int]]:
    """Map (function, array) to the offsets in the array that the function refers to."""
    spans: list[tuple[int, int]] = []
    begins = sorted(arrays)
    largest = max((each.size for each in arrays.values()), default=0)
    for each in map(arrays.__getitem__, begins):
        begin = max(each.address, sum(spans[-1]) if spans else 0)
        if begin < each.address + each.size:
            spans.append((begin, each.address + each.size - begin))
    found: dict[tuple[int, int], set[int]] = {}
    for function, target in processor.find_targets(image, spans, functions):
        for begin in begins[bisect_right(begins, target - largest) : bisect_right(begins, target)]:
            if target < begin + arrays[begin].size:
                found.setdefault((function, begin), set()).add(target - begin)
    return found


_QUESTION = "references"


def is_any_in(addresses: list[int], begin: int, size: int | None) -> bool:
    """Return whether one of the sorted addresses is in that storage."""
    at = bisect_left(addresses, begin)
    return size is not None and at < len(addresses) and addresses[at] < begin + size


class Spans:
    """Storage, as a mapping from where a span begins to its bytes. No two overlap."""

    def __init__(self, sizes: Mapping[int, int]) -> None:
        self._sizes = sizes
        self._begins = sorted(sizes)

    def begin_of(self, address: int) -> int | None:
        """Return where the span with this address begins, if there is one."""
        after = bisect_right(self._begins, address)
        begin = self._begins[after - 1] if after else 0
        return begin if address - begin < self._sizes.get(begin, 0) else None


class References(NamedTuple):
    """`loose`: addresses that nameless pointers hold."""

    sites: Sites
    refusals: list[SiteRefusal]
    tables: list[PointerTable]
    loose: list[int]

    @property
    def stuck(self) -> set[int]:
        """Addresses of regions with an instruction that cannot be redirected."""
        return {refusal.region for refusal in self.refusals}

    def held_past_code(self) -> list[int]:
        """Return the addresses that code reaches past instructions which cannot be redirected, in order."""
        stuck, held, tables = self.stuck, sorted(self.loose), list(self.tables)
        while True:
            reached = [
                each for each in tables if each.address in stuck or is_any_in(held, each.address, each.size)
            ]
            if not reached:
                return held
            held = sorted([*held, *(target for table in reached for _, target in table.pointers)])
            tables = [table for table in tables if table not in reached]


def read_references(survey: Survey) -> References:
    """Find the code that refers to options, to what their values pass through or LLVM reports through.

    Decodes every function that refers to one of these, or to what decides about debug output, unless the
    answer is kept. Then making the trampolines shows whether the sites are those of the library's file.

    Raises CannotDecodeError, and UnsupportedImageError if an instruction that LLVM reports through cannot be
    redirected.
    """
    image, printing = survey.image, survey.printing
    sizes = static_storage(survey.options)
    spans = [(begin, sizes[begin]) for begin in sorted(sizes)]
    others = [(part.address, part.size) for part in survey.reporting]
    others += [(part.address, part.size) for part in survey.state]
    if printing is not None:
        others.append((printing.types.address, printing.types.size))
    findings = image.findings
    question = _question(image.base, spans, others, printing)
    kept = findings.recall(_QUESTION, question)
    if kept is None:
        references = _decode(image, spans, others, printing)
        findings.keep(_QUESTION, question, _pack(image.base, references))
    else:
        references = _unpack(image, kept)
    references = _as_bound(references)
    _check_reporting(image.path, survey.reporting, references)
    return references


def _question(
    base: int, spans: list[tuple[int, int]], others: list[tuple[int, int]], printing: Printing | None
) -> Any:
    flat = array("q", [number for begin, size in (*spans, *others) for number in (begin - base, size)])
    return len(spans), flat.tobytes(), "" if printing is None else printing.asked


def _decode(
    image: Image, spans: list[tuple[int, int]], others: list[tuple[int, int]], printing: Printing | None
) -> References:
    pointers = find_pointers(image, sorted([*spans, *others]))
    tables = [(table.address, table.size) for table in pointers.tables]
    spans = sorted([*spans, *others, *tables])
    found = _but_of_constructors(image, processor.find_references_to(image, spans, pointers.windows()))
    refusals = found.refusals + find_ends(image, found.sites, dict(spans), {address for address, _ in tables})
    unsure = {each.address for each in refusals}
    sites = [site for site in found.sites if site.address not in unsure]
    if printing is not None:  # other functions that refer to the list change it, process-wide
        types = printing.types.address
        sites = [site for site in sites if site.region != types or _decides(image, site, printing)]
        refusals = [each for each in refusals if each.region != types or each.function == printing.asked]
    # In a stripped library any code may reach a nameless pointer, from the start of the object that it is in.
    loose = (
        [target for _, target in pointers.nameless] if image.is_stripped else pointers.loose(found.accesses)
    )
    return References(Sites(sites), refusals, pointers.tables, loose)


def _but_of_constructors(image: Image, found: CodeReferences) -> CodeReferences:
    """Leave out what constructors of options refer to: once an option is registered, its own has run."""
    constructs = re.compile(OPTION_CONSTRUCTOR).match
    numbers = {
        number for number in {site.function for site in found.sites} if constructs(image.name_of(number))
    }
    sites = Sites([site for site in found.sites if site.function not in numbers]) if numbers else found.sites
    return found._replace(
        sites=sites, refusals=[each for each in found.refusals if not constructs(each.function)]
    )


def _pack(base: int, references: References) -> Any:
    return (
        references.sites.pack(base),
        tuple(
            (each.address - base, each.region - base, each.function, each.code, each.reason)
            for each in references.refusals
        ),
        tuple(
            (each.address - base, each.size, tuple((at, target - base) for at, target in each.pointers))
            for each in references.tables
        ),
        tuple(target - base for target in references.loose),
    )


def _unpack(image: Image, kept: Any) -> References:
    rows, refusals, tables, loose = kept
    base = image.base
    return References(
        Sites.unpack(base, rows),
        [SiteRefusal(address + base, region + base, *rest) for address, region, *rest in refusals],
        [
            PointerTable(address + base, size, tuple((at, target + base) for at, target in pointers))
            for address, size, pointers in tables
        ],
        [target + base for target in loose],
    )


def _decides(image: Image, site: Site, printing: Printing) -> bool:
    return not site.takes_address and image.name_of(site.function) == printing.asked


def _as_bound(references: References) -> References:
    """Take what the loader has bound to another library for a pointer that leads past all instructions."""
    elsewhere = set[int]().union(*map(bound_elsewhere, references.tables))
    return references._replace(loose=[*references.loose, *elsewhere]) if elsewhere else references


def _check_reporting(path: str, reporting: list[Symbol], references: References) -> None:
    held = references.held_past_code()
    for part in reporting:
        if is_any_in(held, part.address, part.size):
            raise UnsupportedImageError(
                f"{path}: LLVM's own data points at {part.name}, through which LLVM reports, past every "
                "instruction that could be redirected"
            )
    places = {part.address for part in reporting}
    for refusal in references.refusals:
        if refusal.region in places:
            raise UnsupportedImageError(
                f"{path}: {refusal.code.hex()} at {refusal.address:#x} in {refusal.function}, "
                f"through which LLVM reports, cannot be redirected: {refusal.reason}"
            )


def static_storage(options: list[RegisteredOption]) -> dict[int, int]:
    """Map where each option of the library's own storage begins, and each variable, to its bytes."""
    spans = {option.address: option.size for option in options if option.size is not None}
    for option in options:
        if option.variable_size is not None and option.size is not None:
            spans[option.variable] = option.variable_size
    return spans
