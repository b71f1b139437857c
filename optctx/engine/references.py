"""What is known of the code that reads options: where it does, and what of that cannot be redirected."""

from __future__ import annotations

from array import array
from typing import Any, NamedTuple

from optctx._native import Image
from optctx.arch import processor
from optctx.arch.site import Site, SiteRefusal, Sites
from optctx.engine.ends import find_ends
from optctx.errors import UnsupportedImageError
from optctx.image.findings import findings_of
from optctx.image.pointers import PointerTable, find_pointers
from optctx.image.printing import Printing
from optctx.image.records import OptionRecord
from optctx.image.reporting import ReportingObject
from optctx.image.state_beside import StateBeside

__all__ = ["References", "read_references"]

_QUESTION = "references"


class References(NamedTuple):
    """`sites`: None where the code was not decoded. `loose`: addresses that nameless pointers hold."""

    sites: Sites | None
    refusals: list[SiteRefusal]
    tables: list[PointerTable]
    loose: list[int]

    @property
    def stuck(self) -> set[int]:
        """Addresses of regions with an instruction that cannot be redirected."""
        return {refusal.region for refusal in self.refusals}


def read_references(
    image: Image,
    records: list[OptionRecord],
    state: list[StateBeside],
    reporting: list[ReportingObject],
    printing: Printing | None,
) -> References:
    """Decodes every function that refers to an option, to what its value passes through, to the reporting, or
    to what decides about debug output.

    Raises UnsupportedImageError if an instruction that LLVM reports through cannot be redirected.
    """
    spans = _spans(records)
    others = [(part.address, part.size) for part in reporting]
    others += [(part.address, part.size) for part in state]
    if printing is not None:
        others.append((printing.types.address, printing.types.size))
    findings = findings_of(image)
    question = _question(image, spans, others, printing)
    kept = findings.recall(_QUESTION, question)
    if kept is None:
        references = _decode(image, spans, others, printing)
        findings.keep(_QUESTION, question, _pack(image, references))
    else:
        references = _unpack(image, kept)
    _check_reporting(image, reporting, references.refusals)
    return references


def _question(
    image: Image, spans: list[tuple[int, int]], others: list[tuple[int, int]], printing: Printing | None
) -> Any:
    flat = array("q", [number for begin, size in (*spans, *others) for number in (begin - image.base, size)])
    return len(spans), flat.tobytes(), "" if printing is None else printing.asked


def _decode(
    image: Image, spans: list[tuple[int, int]], others: list[tuple[int, int]], printing: Printing | None
) -> References:
    pointers = find_pointers(image, spans)
    tables = [(table.address, table.size) for table in pointers.tables]
    spans = sorted([*spans, *others, *tables])
    found = processor().find_references_to(image, spans, pointers.windows())
    sites = found.sites
    refusals = found.refusals + find_ends(image, sites, dict(spans), {address for address, _ in tables})
    unsure = {each.address for each in refusals}
    if unsure:
        sites = sites.where(lambda site: site.address not in unsure)
    if printing is not None:  # other functions that refer to the list change it, process-wide
        types = printing.types.address
        sites = sites.where(lambda site: _decides(site, printing), {types})
        refusals = [each for each in refusals if each.region != types or each.function == printing.asked]
    return References(sites, refusals, pointers.tables, pointers.loose(found.accesses))


def _pack(image: Image, references: References) -> Any:
    assert references.sites is not None  # the code was decoded
    base = image.base
    return (
        references.sites.packed,
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
    packed, refusals, tables, loose = kept
    base = image.base
    sites = Sites(image, packed)
    sites.check()
    return References(
        sites,
        [SiteRefusal(address + base, region + base, *rest) for address, region, *rest in refusals],
        [
            PointerTable(address + base, size, tuple((at, target + base) for at, target in pointers))
            for address, size, pointers in tables
        ],
        [target + base for target in loose],
    )


def _decides(site: Site, printing: Printing) -> bool:
    return site.function == printing.asked and not site.takes_address


def _check_reporting(image: Image, reporting: list[ReportingObject], refusals: list[SiteRefusal]) -> None:
    places = {part.address for part in reporting}
    for refusal in refusals:
        if refusal.region in places:
            raise UnsupportedImageError(
                f"{image.path}: {refusal.code.hex()} at {refusal.address:#x} in {refusal.function}, "
                f"through which LLVM reports, cannot be redirected: {refusal.reason}"
            )


def _spans(records: list[OptionRecord]) -> list[tuple[int, int]]:
    spans = set()
    for record in records:
        if record.size is None:
            continue
        spans.add((record.address, record.size))
        if record.variable_size is not None:
            spans.add((record.variable, record.variable_size))
    return sorted(spans)
