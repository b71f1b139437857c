"""Decides for every option whether it can have a value per thread, and says why where it cannot."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from optctx._native import (
    NO_SLOT,
    Image,
    Kind,
    Ownership,
    Region,
    Role,
    Span,
    find_data_pointers,
    find_references,
)
from optctx.image.sites import Site, SiteRefusal, find_sites
from optctx.image.survey import OptionRecord, Survey

__all__ = ["Plan", "PlannedOption", "make_plan"]

# Process-wide by nature, whatever the code that reads them looks like.
_BY_NATURE = {
    "time-passes": "the timers that it starts belong to the whole process",
    "time-passes-per-run": "the timers that it starts belong to the whole process",
}
_HEAP = "its Option object is on the heap, where no instruction names it"
_CALLBACK = "setting it runs a callback, whose effect belongs to the whole process"
_REGISTRY = "LLVM copies it once into a registry of passes that the whole process shares"
_POINTED_AT = "LLVM's own data points at it, past every instruction that could be redirected"
_LOCATION = "its value is in storage (cl::location) that has no name in the library"
_LAYOUT = "its type has a layout that is not known here"
_FIRST_USE = "the function that reads it also constructs it"
_WRITTEN_CLASS = "LLVM itself writes to it, and its class cannot be copied byte by byte"


@dataclass
class PlannedOption:
    """A registered option with what was decided. `slot` is its place in a view, None if it has none."""

    record: OptionRecord
    scope: str = "thread"  # thread, process or unread
    reason: str = ""
    slot: int | None = None
    variable_slot: int = NO_SLOT
    readers: list[str] = field(default_factory=list)  # mangled names, in the order of the code


@dataclass
class Plan:
    """`options` by address of the Option; `regions` by slot; `slots` by address of the region."""

    options: dict[int, PlannedOption]
    regions: list[Region]
    set_default: list[int]
    slots: dict[int, int]
    runtime_slots: list[int]
    sites: list[Site]
    refusals: list[SiteRefusal]


def make_plan(image: Image, survey: Survey, runtime: list[tuple[int, int]]) -> Plan:
    """`runtime`: (address, size in bytes) of what LLVM reports through; each gets a slot as well."""
    options = {record.address: PlannedOption(record) for record in survey.records}
    for option in options.values():
        _refuse(option, _reason_by_record(option.record))
    spans = _spans(survey.records)
    sites, refusals = find_sites(image, sorted([*spans, *runtime]))
    by_region: dict[int, list[Site]] = defaultdict(list)
    for site in sites:
        by_region[site.region].append(site)
    _refuse_by_code(options, by_region, refusals, _pointed_at(image, spans))
    for option in options.values():
        own = [*by_region[option.record.address], *by_region.get(option.record.variable, [])]
        option.readers = list(dict.fromkeys(site.function for site in own))
        if not own and option.scope == "thread" and not option.record.alias_of:
            option.scope = "unread"
    plan = Plan(options, [], [], {}, [], [], refusals)
    _give_slots(plan, survey.value_offset, by_region, runtime)
    plan.sites = [site for site in sites if site.region in plan.slots]
    return plan


def _refuse(option: PlannedOption, reason: str) -> None:
    if reason and option.scope != "process":
        option.scope, option.reason = "process", reason


def _reason_by_record(record: OptionRecord) -> str:
    if record.size is None:
        return _HEAP
    if record.name in _BY_NATURE:
        return _BY_NATURE[record.name]
    if record.callback:
        return _CALLBACK
    if record.type.registry_parser:
        return _REGISTRY
    if not record.type.supported:
        return _LAYOUT
    if record.type.external and record.variable_size is None:
        return _LOCATION
    return ""


def _spans(records: list[OptionRecord]) -> list[tuple[int, int]]:
    spans = set()
    for record in records:
        if record.size is None:
            continue
        spans.add((record.address, record.size))
        if record.variable_size is not None:
            spans.add((record.variable, record.variable_size))
    return sorted(spans)


def _pointed_at(image: Image, spans: list[tuple[int, int]]) -> list[int]:
    """Addresses inside the spans that pointers in the image's data hold, if run-time code may read those."""
    pointers = find_data_pointers(image, [Span(begin, size) for begin, size in spans])
    # 16 bytes: a vector load may take the pointer together with its neighbour.
    places = sorted({at & ~15 for at, _ in pointers})
    read = {
        span
        for references in find_references(image, [Span(at, 16) for at in places])
        for span in _targets(references.modrm_at, places)
    }
    return [target for at, target in pointers if at & ~15 in read or at - 16 & ~15 in read]


def _targets(modrm_at: list[int], places: list[int]) -> set[int]:
    """Which of the 16-byte `places` the displacements after the ModRM bytes may mean."""
    from optctx._native import read_bytes

    found = set()
    for at in modrm_at:
        displacement = int.from_bytes(read_bytes(at + 1, 4), "little", signed=True)
        for immediate in (0, 1, 2, 4):
            found.add(at + 5 + displacement + immediate & ~15)
    return found & set(places)


def _refuse_by_code(
    options: dict[int, PlannedOption],
    by_region: dict[int, list[Site]],
    refusals: list[SiteRefusal],
    pointed_at: list[int],
) -> None:
    owners = {option.record.variable: option for option in options.values() if option.record.variable}
    owners.update(options)
    for refusal in refusals:
        if not refusal.harmless and refusal.region in owners:
            where = f"the instruction {refusal.code.hex()} at {refusal.address:#x} in {refusal.function}"
            _refuse(owners[refusal.region], f"{where} cannot be redirected: {refusal.reason}")
    for option in options.values():
        record = option.record
        for begin, size in ((record.address, record.size), (record.variable, record.variable_size)):
            if size is not None and any(begin <= target < begin + size for target in pointed_at):
                _refuse(option, _POINTED_AT)
        own = by_region[record.address]
        if any(site.writes and site.offset == 0 for site in own):
            _refuse(option, _FIRST_USE)
        if record.type.kind == Kind.other and not record.type.external and any(site.writes for site in own):
            _refuse(option, _WRITTEN_CLASS)


def _give_slots(
    plan: Plan, value_offset: int, by_region: dict[int, list[Site]], runtime: list[tuple[int, int]]
) -> None:
    def add(region: Region, set_default: int) -> int:
        plan.regions.append(region)
        plan.set_default.append(set_default)
        plan.slots[region.live] = len(plan.regions) - 1
        return len(plan.regions) - 1

    plan.runtime_slots = [add(Region(*span, Role.runtime), 0) for span in runtime]
    for option in plan.options.values():
        record = option.record
        if option.scope == "process" or record.size is None:
            continue
        region = _region(record, record.address, record.size, Role.option, by_region)
        region.value_offset = value_offset
        region.has_default = record.type.kind != Kind.other
        if record.type.external and record.variable_size is not None:
            variable = _region(record, record.variable, record.variable_size, Role.variable, by_region)
            variable.written = True  # a few bytes each, and LLVM may write them through pointers
            region.variable = option.variable_slot = add(variable, 0)
            region.escapes = variable.escapes = region.escapes or variable.escapes
            region.ownership = Ownership.none
        option.slot = add(region, record.set_default_index)


def _region(
    record: OptionRecord, address: int, size: int, role: Role, by_region: dict[int, list[Site]]
) -> Region:
    region = Region(address, size, role)
    region.kind = record.type.kind
    region.ownership = _ownership(record)
    region.scoped = not record.alias_of
    region.written = any(site.writes for site in by_region[address])
    region.escapes = any(site.takes_address for site in by_region[address])
    return region


def _ownership(record: OptionRecord) -> Ownership:
    kind = record.type.kind
    if kind == Kind.string:
        return Ownership.string
    if kind == Kind.list:
        return Ownership.list_of_strings if record.type.element == Kind.string else Ownership.list
    if kind == Kind.other and record.type.external and record.variable_size == 16:
        return Ownership.shared_pointer  # the pass-remarks family: a std::shared_ptr<Regex>
    return Ownership.none
