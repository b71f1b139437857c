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
)
from optctx.errors import UnsupportedImageError
from optctx.image.sites import Site, SiteRefusal, find_sites
from optctx.image.state import PointerTable, State, find_pointers, find_state
from optctx.image.survey import OptionRecord, Survey

__all__ = ["COPIED_FOR_GOOD", "Plan", "PlannedOption", "make_plan"]

# Process-wide by nature, whatever the code that reads them looks like.
_BY_NATURE = {
    "time-passes": "the timers that it starts belong to the whole process",
    "time-passes-per-run": "the timers that it starts belong to the whole process",
}
# Found by comparing .data and .bss before and after some 4,000 compilations of LLVM's own tests. The copy
# is an object with a destructor that runs at exit, so it cannot be one of many.
COPIED_FOR_GOOD = dict.fromkeys(
    (
        "codegen-data-generate",
        "codegen-data-use-path",
        "filter-passes",
        "filter-print-funcs",
        "verify-pseudo-probe-funcs",
    ),
    "LLVM copies it for good, at first use, into an object that the whole process shares",
)
_HEAP = "its Option object is on the heap, where no instruction names it"
_CALLBACK = "setting it runs a callback, whose effect belongs to the whole process"
_CACHED = "LLVM copies it once into a variable that the whole process shares and that was not found"
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

    def add(self, region: Region, set_default: int = 0) -> int:
        """Gives the region a slot."""
        self.regions.append(region)
        self.set_default.append(set_default)
        slot = self.slots[region.live] = len(self.regions) - 1
        return slot


def make_plan(image: Image, survey: Survey, runtime: list[tuple[int, int]]) -> Plan:
    """`runtime`: (address, size in bytes) of what LLVM reports through; each gets a slot as well.

    Raises UnsupportedImageError if an instruction that uses one of those cannot be redirected.
    """
    options = {record.address: PlannedOption(record) for record in survey.records}
    for option in options.values():
        _refuse(option, _reason_by_record(option.record))
    spans = _spans(survey.records)
    state, missing = find_state(image)
    tables, loose = find_pointers(image, spans)
    others = [*runtime, *((s.address, s.size) for s in state), *((t.address, t.size) for t in tables)]
    sites, refusals = find_sites(image, sorted([*spans, *others]))
    _check_runtime(image, runtime, refusals)
    by_region: dict[int, list[Site]] = defaultdict(list)
    for site in sites:
        by_region[site.region].append(site)
    _refuse_by_code(options, by_region, refusals, loose)
    _refuse_by_state(options, refusals, state, missing, tables)
    for option in options.values():
        own = [*by_region[option.record.address], *by_region.get(option.record.variable, [])]
        option.readers = list(dict.fromkeys(site.function for site in own))
        if not own and option.scope == "thread" and not option.record.alias_of:
            option.scope = "unread"
    plan = Plan(options, [], [], {}, [], [], refusals)
    plan.runtime_slots = [plan.add(Region(*span, Role.runtime)) for span in runtime]
    _give_slots(plan, survey.value_offset, by_region)
    _add_state(plan, state, tables)
    plan.sites = [site for site in sites if site.region in plan.slots]
    return plan


def _check_runtime(image: Image, runtime: list[tuple[int, int]], refusals: list[SiteRefusal]) -> None:
    places = {address for address, _ in runtime}
    for refusal in refusals:
        if refusal.region in places:
            raise UnsupportedImageError(
                f"{image.path}: {refusal.code.hex()} at {refusal.address:#x} in {refusal.function}, "
                f"through which LLVM reports, cannot be redirected: {refusal.reason}"
            )


def _refuse(option: PlannedOption, reason: str) -> None:
    if reason and option.scope != "process":
        option.scope, option.reason = "process", reason


def _reason_by_record(record: OptionRecord) -> str:
    if record.size is None:
        return _HEAP
    if special := _BY_NATURE.get(record.name) or COPIED_FOR_GOOD.get(record.name):
        return special
    if record.callback:
        return _CALLBACK
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


def _refuse_by_code(
    options: dict[int, PlannedOption],
    by_region: dict[int, list[Site]],
    refusals: list[SiteRefusal],
    pointed_at: list[int],
) -> None:
    owners = {option.record.variable: option for option in options.values() if option.record.variable}
    owners.update(options)
    for refusal in refusals:
        if refusal.region in owners:
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


def _refuse_by_state(
    options: dict[int, PlannedOption],
    refusals: list[SiteRefusal],
    state: list[State],
    missing: set[str],
    tables: list[PointerTable],
) -> None:
    """Options whose values pass through storage that cannot be redirected."""
    stuck = {refusal.region for refusal in refusals}
    lacking = missing.union(*(part.serves for part in state if part.address in stuck))
    held = [target for table in tables if table.address in stuck for _, target in table.pointers]
    for option in options.values():
        record = option.record
        if lacking.intersection(record.names):
            _refuse(option, _CACHED)
        if record.size is not None and any(0 <= target - record.address < record.size for target in held):
            _refuse(option, _POINTED_AT)


def _add_state(plan: Plan, state: list[State], tables: list[PointerTable]) -> None:
    """Slots for what option values pass through; every entry into a context starts with fresh copies."""
    stuck = {refusal.region for refusal in plan.refusals}
    for part in state:
        if part.address not in stuck:
            region = _state_region(part.address, part.size)
            region.set_initial(part.initial_at, part.initial)
            plan.add(region)
    for table in tables:
        if table.address in stuck:
            continue
        region = _state_region(table.address, table.size)
        for at, target in table.pointers:
            owner = next((option for option in plan.options.values() if _holds(option, target)), None)
            if owner is not None and owner.slot is not None:
                region.add_pointer(at, owner.slot, target - owner.record.address)
        plan.add(region)


def _state_region(address: int, size: int) -> Region:
    region = Region(address, size, Role.state)
    region.scoped = region.written = True
    return region


def _holds(option: PlannedOption, address: int) -> bool:
    return option.record.size is not None and 0 <= address - option.record.address < option.record.size


def _give_slots(plan: Plan, value_offset: int, by_region: dict[int, list[Site]]) -> None:
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
            region.variable = option.variable_slot = plan.add(variable)
            region.escapes = variable.escapes = region.escapes or variable.escapes
            region.ownership = Ownership.none
        option.slot = plan.add(region, record.set_default_index)


def _region(
    record: OptionRecord, address: int, size: int, role: Role, by_region: dict[int, list[Site]]
) -> Region:
    region = Region(address, size, role)
    region.kind = record.type.kind
    region.ownership = _ownership(record)
    region.scoped = not record.alias_of
    region.escapes = any(site.takes_address for site in by_region[address])
    # Where LLVM takes the address it may write through it (SampleProfileLoader does).
    region.written = any(site.writes for site in by_region[address]) or (
        region.escapes and record.type.kind not in (Kind.list, Kind.bits, Kind.other)
    )
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
