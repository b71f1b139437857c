"""Tells addresses of options from ends of arrays that lie beside them.

A loop over an array compares with an address past its end, which may be that of an option. It is the array's
own end (`DataLayout::reset` of LLVM 15), or some bytes more if the loop's pointer stays at a member of the
elements (`shouldScheduleAdjacent` of LLVM 15, for PowerPC). Redirected, such a loop never ends. An address of
an option's storage in a function that also refers to an array beside it is refused, and the option with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from optctx._native import Image, Symbol
from optctx.arch import processor
from optctx.arch.site import Site, SiteRefusal, Sites
from optctx.image.facts.types import GUARD

__all__ = ["find_ends"]

_REACH = 4096  # bytes; more than an element of an array has
_STEP = 8  # bytes, over padding
_REASON = "it may mean the end of an array beside that storage, which the function refers to as well"


def find_ends(
    image: Image, sites: Sites, sizes: Mapping[int, int], tables: AbstractSet[int]
) -> list[SiteRefusal]:
    """Refusals for the sites that may not be what they seem.

    `sizes`: bytes of every region by its address. Options and variables are no arrays; `tables` are. A table
    is in the library only because some instruction refers to it, so its only reference is its own.
    """
    taking = sites.taking_addresses()
    arrays: dict[int, Symbol] = {}
    beside: dict[int, set[int]] = {}  # region -> addresses of arrays
    for region in {site.region for site in taking}:
        for symbol in _objects_beside(image, region, sizes[region]):
            if not symbol.name.startswith(GUARD) and (
                symbol.address in tables or symbol.address not in sizes
            ):
                arrays[symbol.address] = symbol
                beside.setdefault(region, set()).add(symbol.address)
    referred = _referred(image, arrays, {site.number for site in taking if site.region in beside})
    references = sites.counts()
    unsure = []
    for site in taking:
        ambiguous = any(
            _may_be_an_end(site, arrays[array], offsets)
            for array in beside.get(site.region, ())
            if (offsets := referred.get((site.number, array)))
        )
        if ambiguous and not (site.region in tables and references[site.region] == 1):
            unsure.append(SiteRefusal(site.address, site.region, site.function, site.code, _REASON))
    return unsure


def _may_be_an_end(site: Site, array: Symbol, offsets: AbstractSet[int]) -> bool:
    """Whether a loop over the array can meet the site's address.

    `offsets`: in the array, which the function refers to. The loop begins at one of them, as many bytes into
    an element as its end is past the array.
    """
    target, end = site.region + site.offset, array.address + array.size
    if target >= end:
        past = target - end
        return past == 0 or (past < array.size // 2 and (site.offset > 0 or past <= max(offsets)))
    return array.address - target <= array.size // 2


def _objects_beside(image: Image, region: int, size: int) -> Iterator[Symbol]:
    for begin, step in ((region - 1, -_STEP), (region + size, _STEP)):
        at = begin
        while abs(at - begin) < _REACH:
            symbol = image.object_at(at)
            if symbol is None:
                at += step
                continue
            yield symbol
            at = symbol.address - 1 if step < 0 else symbol.address + symbol.size


def _referred(
    image: Image, arrays: Mapping[int, Symbol], functions: AbstractSet[int]
) -> dict[tuple[int, int], set[int]]:
    """(function, array) -> offsets in the array that the function refers to."""
    spans: list[tuple[int, int]] = []
    for symbol in sorted(arrays.values(), key=lambda symbol: symbol.address):
        if not spans or symbol.address >= sum(spans[-1]):
            spans.append((symbol.address, symbol.size))
    found: dict[tuple[int, int], set[int]] = {}
    for function, target in processor().find_targets(image, spans, functions):
        array = image.object_at(target)
        if array is not None and array.address in arrays:
            found.setdefault((function, array.address), set()).add(target - array.address)
    return found
