"""Which options a context cannot set without reaching the whole process, and why."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping

from optctx._native import NO_SLOT, Kind
from optctx.arch.processor import Functions, Uses
from optctx.image.options import OptionRecord
from optctx.image.storage_beside import StateBeside
from optctx.plan.references import References

__all__ = ["COPIED_FOR_GOOD", "PlannedOption", "refuse"]

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
# What reading the code shows; named here for a library whose code is not decoded.
_UNREAD_FIRST_USE = ("stats", "stats-json")
_HEAP = "its Option object is on the heap, where no instruction names it"
_CALLBACK = "setting it runs a callback, whose effect belongs to the whole process"
_CACHED = "LLVM copies it once into a variable that the whole process shares and that was not found"
_POINTED_AT = "LLVM's own data points at it, past every instruction that could be redirected"
_LOCATION = "its value is in storage (cl::location) that has no name in the library"
_LAYOUT = "its type has a layout that is not known here"
_FIRST_USE = "the function that reads it also constructs it"
_WRITTEN_CLASS = "LLVM itself writes to it, and its class cannot be copied byte by byte"
_OTHER = Kind.other  # looking up a member of an enumeration takes longer than comparing it
_CLASS = "its class cannot be copied byte by byte"


class PlannedOption:
    """A registered option with what was decided. `slot` is its place in a view, None if it has none.

    `scope`: thread, process or unread. `functions`: those that read it. `value_offset`: bytes from the Option
    to its value, or to the address of the variable that has the value (`cl::location`). This class alone
    decides which of the two it is.
    """

    __slots__ = ("functions", "reason", "record", "scope", "slot", "value_offset", "variable_slot")

    def __init__(self, record: OptionRecord, value_offset: int) -> None:
        self.record = record
        self.value_offset = value_offset
        self.scope = "thread"
        self.reason = ""
        self.slot: int | None = None
        self.variable_slot: int = NO_SLOT
        self.functions: Functions | None = None

    @property
    def readers(self) -> tuple[str, ...]:
        """Mangled names of the functions that read it, in the order of the code."""
        return () if self.functions is None else self.functions.names()

    @property
    def has_storage(self) -> bool:
        """Whether contexts have storage of their own for it."""
        return self.slot is not None and self.scope != "process"

    @property
    def live(self) -> int:
        """The address of the value in LLVM's own storage."""
        return self.record.variable or self.record.address + self.value_offset

    def value_in(self, address_of: Callable[[int], int]) -> int:
        """The address of the value in storage that has an address for each slot. The option must have one."""
        if self.variable_slot != NO_SLOT:
            return address_of(self.variable_slot)
        assert self.slot is not None
        return address_of(self.slot) + self.value_offset

    def refuse(self, reason: str) -> None:
        """The first reason counts."""
        if reason and self.scope != "process":
            self.scope, self.reason = "process", reason


def refuse(
    options: dict[int, PlannedOption],
    code: References,
    state: list[StateBeside],
    missing: set[str],
    uses: Mapping[int, Uses],
    on_heap: Collection[int] = (),
) -> None:
    """Enters scope and reason. `options` by address; `missing`: names that lack a variable of theirs;
    `uses`: of regions by address; `on_heap`: those on the heap whose place there does not matter."""
    for option in options.values():
        if option.record.address not in on_heap and (reason := _reason_by_record(option.record)):
            option.refuse(reason)
        if code.sites is None:
            option.refuse(_reason_without_code(option.record))
    _refuse_by_code(options, code, uses)
    _refuse_by_state(options, code, state, missing)


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


def _reason_without_code(record: OptionRecord) -> str:
    if record.name in _UNREAD_FIRST_USE:
        return _FIRST_USE
    if record.type.kind == _OTHER and not record.type.external and not record.type.alias:
        return _CLASS
    return ""


def _refuse_by_code(options: dict[int, PlannedOption], code: References, uses: Mapping[int, Uses]) -> None:
    owners = {option.record.variable: option for option in options.values() if option.record.variable}
    owners.update(options)
    for refusal in code.refusals:
        if refusal.region in owners:
            where = f"the instruction {refusal.code.hex()} at {refusal.address:#x} in {refusal.function}"
            owners[refusal.region].refuse(f"{where} cannot be redirected: {refusal.reason}")
    loose = sorted(code.loose)
    for option in options.values():
        record = option.record
        if _any_in(loose, record.address, record.size) or _any_in(
            loose, record.variable, record.variable_size
        ):
            option.refuse(_POINTED_AT)
        own = uses.get(record.address)
        if own is None:
            continue
        if own.writes_head:
            option.refuse(_FIRST_USE)
        if own.writes and record.type.kind == _OTHER and not record.type.external:
            option.refuse(_WRITTEN_CLASS)


def _any_in(addresses: list[int], begin: int, size: int | None) -> bool:
    """Whether one of the sorted addresses is in that storage."""
    if size is None:
        return False
    at = bisect_left(addresses, begin)
    return at < len(addresses) and addresses[at] < begin + size


def _refuse_by_state(
    options: dict[int, PlannedOption], code: References, state: list[StateBeside], missing: set[str]
) -> None:
    """Options whose values pass through storage that cannot be redirected."""
    stuck = code.stuck
    lacking = missing.union(*(part.serves for part in state if part.address in stuck))
    tables = [table for table in code.tables if table.address in stuck]
    held = sorted(target for table in tables for _, target in table.pointers)
    if not lacking and not held:
        return
    for option in options.values():
        record = option.record
        if not lacking.isdisjoint(record.names):
            option.refuse(_CACHED)
        if _any_in(held, record.address, record.size):
            option.refuse(_POINTED_AT)
