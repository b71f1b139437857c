"""Decides for every option whether a context can set it, and gives slots to the storage of those it can."""

from __future__ import annotations

from collections.abc import Container, Mapping

from optctx._native import Abi, Kind, Ownership, Readers, Region, Role, Uses
from optctx.image.facts.interceptions import DEBUG_OUTPUT
from optctx.image.options import RegisteredOption
from optctx.image.storage_beside import Printing, StateBeside
from optctx.image.survey import Survey
from optctx.plan.references import References, Spans, static_storage
from optctx.plan.refusals import refuse

# Looking up a member of an enumeration takes longer than comparing it.
_LIST, _OTHER = Kind.list, Kind.other
_NOT_WRITTEN_THROUGH = (Kind.list, Kind.bits, Kind.other)
_STRINGS = {Kind.string: Abi.copy_on_write, Kind.long_string: Abi.libstdcxx, Kind.libcxx_string: Abi.libcxx}
_OPTION, _VARIABLE, _NOTHING_OWNED = Role.option, Role.variable, Ownership.none


class Plan:
    """What is to be done with an image. It decides in the options of the survey that it is made from.

    `options` by address of the Option; `regions` by slot; `slots` by address of the region. `owners`: by slot
    of an option's storage, the option; `served`: by slot of storage beside, the options whose values it leads
    to. `printing`: how LLVM decides about debug output, if contexts can have their own. `unavailable`: what
    else contexts cannot have, and why.
    """

    def __init__(
        self, options: dict[int, RegisteredOption], references: References, printing: Printing | None
    ) -> None:
        self.options = options
        self.references = references
        self.printing = printing
        self.regions: list[Region] = []
        self.slots: dict[int, int] = {}
        self.readers: Readers  # once the slots are given
        self.owners: dict[int, RegisteredOption] = {}
        self.served: dict[int, list[RegisteredOption]] = {}
        self.unavailable: dict[str, str] = {}

    def sees_reads(self, option: RegisteredOption) -> bool:
        """Return whether it can be known if LLVM reads the option: those that print it reads everywhere."""
        return self.printing is None or option not in self.printing.options

    def add(self, region: Region) -> int:
        """Give the region a slot."""
        self.regions.append(region)
        slot = self.slots[region.live] = len(self.regions) - 1
        return slot


def make_plan(survey: Survey, references: References) -> Plan:
    """Make a plan: with slots for the reporting, and every site of a region."""
    image, printing, no_printing = survey.image, survey.printing, survey.no_printing
    sites = references.sites
    uses = sites.uses()
    if printing is not None and (
        printing.types.address in references.stuck or printing.types.address not in uses
    ):
        no_printing = f"{image.path}: {printing.asked} cannot be redirected"
        printing = None
    options = {option.address: option for option in survey.options}
    on_heap = () if printing is None else [option.address for option in printing.options]
    refuse(image, options, references, survey.state, survey.missing, uses, on_heap)
    plan = Plan(options, references, printing)
    if no_printing:
        plan.unavailable[DEBUG_OUTPUT] = no_printing
    led_to = _readers_through_tables(plan, uses, Spans(static_storage(survey.options)))
    for option in plan.options.values():
        own = uses.get(option.address)
        of_variable = None if option.variable_size is None else uses.get(option.variable)
        if printing is not None and option.address in on_heap:
            own, of_variable = uses[printing.types.address], None
        readers = own.functions if own is not None else ()
        if of_variable is not None:
            readers += of_variable.functions
        if option.type.external:
            readers += led_to.get(option.variable, ())
        readers += led_to.get(option.address, ())
        if readers:
            option.functions = readers
        elif option.scope == "thread" and not option.alias_of:
            option.scope = "unread"
    for part in survey.reporting:
        plan.add(Region(part.address, part.size, Role.runtime))
    _give_slots(plan, uses, led_to, Abi.libcxx if survey.registry.is_libcxx else Abi.libstdcxx)
    _add_state(plan, survey.state)
    _add_tables(plan)
    if printing is not None:
        for slot in set().union(*(option.slots for option in printing.options)):
            plan.regions[slot].shared = True
    if not uses.keys() <= plan.slots.keys():
        sites = sites.of(plan.slots)
        plan.references = references._replace(sites=sites)
    # The words of the others are the same for all who load them.
    others = {part.address for part in survey.reporting}
    if printing is not None:
        others.add(printing.types.address)
    plan.readers = Readers(sites, plan.slots, others, len(plan.regions))
    return plan


def _readers_through_tables(
    plan: Plan, uses: Mapping[int, Uses], storage: Spans
) -> dict[int, tuple[int, ...]]:
    """Map where the storage begins that tables lead to, to the functions that read it there, by number."""
    tables = plan.references.tables
    readers = {table.address: set(uses[table.address].functions) for table in tables if table.address in uses}
    beyond = Spans({table.address: table.size for table in tables})
    pairs = [(table.address, beyond.begin_of(target)) for table in tables for _, target in table.pointers]
    links = [(at, other) for at, other in pairs if other is not None]
    grown = bool(links)
    while grown:  # past tables that lead to tables
        before = sum(map(len, readers.values()))
        for at, other in links:
            readers.setdefault(other, set()).update(readers.get(at, ()))
        grown = sum(map(len, readers.values())) > before
    found: dict[int, set[int]] = {}
    for table in tables:
        for _, target in table.pointers:
            begin = storage.begin_of(target)
            if begin is not None:
                found.setdefault(begin, set()).update(readers.get(table.address, ()))
    return {begin: tuple(sorted(numbers)) for begin, numbers in found.items()}


def _add_state(plan: Plan, state: list[StateBeside]) -> None:
    """Give slots to what option values pass through; every entry into a context starts with fresh copies."""
    by_name = {name: option for option in plan.options.values() for name in option.names}
    stuck = plan.references.stuck
    for part in state:
        if part.address not in stuck:
            region = _state_region(part.address, part.size)
            region.set_initial(part.initial_at, part.initial)
            slot = plan.add(region)
            if part.serves:
                own = {id(by_name[name]): by_name[name] for name in part.serves if name in by_name}
                plan.served[slot] = sorted(own.values(), key=lambda option: option.names)


def _add_tables(plan: Plan) -> None:
    """Give slots to constant tables of pointers to options, and to what their values pass through."""
    stuck = plan.references.stuck
    tables = [
        (table, _state_region(table.address, table.size))
        for table in plan.references.tables
        if table.address not in stuck
    ]
    for _, region in tables:
        plan.add(region)
    storage = Spans({region.live: region.size for region in plan.regions} if tables else {})
    for table, region in tables:
        served = []
        for at, target in table.pointers:
            begin = storage.begin_of(target)
            if begin is not None:
                slot = plan.slots[begin]
                region.add_pointer(at, slot, target - begin)
                served += [plan.owners[slot]] if slot in plan.owners else []
        plan.served[plan.slots[table.address]] = served


def _state_region(address: int, size: int) -> Region:
    return Region(address, size, Role.state, scoped=True, written=True)


def _give_slots(plan: Plan, uses: Mapping[int, Uses], led_to: Container[int], abi: Abi) -> None:
    for option in plan.options.values():
        size = option.heap_size if option.size is None else option.size
        if option.scope == "process" or size is None:
            continue
        region = _region(uses, led_to, option, option.address, size, _OPTION, abi)
        region.value_offset = option.value_offset
        region.has_default = option.type.kind != _OTHER
        region.set_default = option.set_default_index
        if plan.printing is not None and option is plan.printing.debug_only:
            types = plan.printing.types  # where LLVM puts what it is given
            region.escapes = True
            region.variable = option.value_slot = plan.add(
                Region(types.address, types.size, Role.decision, scoped=True, escapes=True)
            )
        elif option.type.external and option.variable_size is not None:
            variable = _region(uses, led_to, option, option.variable, option.variable_size, _VARIABLE, abi)
            variable.written = True  # a few bytes each, and LLVM may write them through pointers
            region.variable = option.value_slot = plan.add(variable)
            region.escapes = variable.escapes = region.escapes or variable.escapes
            region.ownership = _NOTHING_OWNED
        option.slot = plan.add(region)
        if option.value_slot is None:
            option.value_slot = option.slot
        plan.owners[option.slot] = plan.owners[option.value_slot] = option


def _region(
    uses: Mapping[int, Uses],
    led_to: Container[int],
    option: RegisteredOption,
    address: int,
    size: int,
    role: Role,
    abi: Abi,
) -> Region:
    kind, used = option.type.kind, uses.get(address)
    escapes = (used is not None and used.takes_address) or address in led_to
    # Where LLVM takes the address, or loads it from a table, it may write there (SampleProfileLoader does).
    written = (used is not None and used.writes) or (escapes and kind not in _NOT_WRITTEN_THROUGH)
    ownership, abi = _owned(option, abi)
    return Region(address, size, role, kind, ownership, abi, not option.alias_of, written, escapes)


def _owned(option: RegisteredOption, abi: Abi) -> tuple[Ownership, Abi]:
    """Return what the value owns, and the ABI of that. `abi`: of the library's pointers."""
    kind = option.type.kind
    if kind == _LIST:
        strings = _STRINGS.get(option.type.element)
        return (Ownership.list, abi) if strings is None else (Ownership.list_of_strings, strings)
    if (strings := _STRINGS.get(kind)) is not None:
        return Ownership.string, strings
    if kind == _OTHER and option.type.external and option.variable_size == 16:
        return Ownership.shared_pointer, abi  # the pass-remarks family: a std::shared_ptr<Regex>
    return _NOTHING_OWNED, abi
