"""The state of an option as LLVM can find it out: the value, and how often it was given."""

from __future__ import annotations

from dataclasses import dataclass

from optctx._native import (
    CoveredStorage,
    Kind,
    Setting,
    option_at,
    read_bytes,
    read_words,
    storage_shown,
)
from optctx.engine.attach import Engine
from optctx.plan.plan import PlannedOption
from optctx.registry.values import Value, read_default, read_value

__all__ = [
    "OptionState",
    "drifted_states",
    "live_state",
    "outside_contexts",
    "registered_state",
    "shown_state",
]

_OCCURRENCES = (8, 2)  # (bytes from the start of an Option, size)
_LIST_DEFAULTS = 24  # bytes from a cl::list's values to the vector of its cl::list_init values


@dataclass(frozen=True)
class OptionState:
    """`value` is None for types without a readable form, whose changes show in `occurrences` only."""

    value: Value
    occurrences: int
    readable: bool = True

    @property
    def key(self) -> tuple[str, object]:
        """Equal for states that LLVM treats alike: it asks for the value and whether it was given."""
        return repr(self.value), self.occurrences != 0 if self.readable else self.occurrences


def live_state(engine: Engine, option: PlannedOption) -> OptionState:
    """The state in LLVM's own storage at this moment."""
    record = option.record
    address = record.variable or record.address + engine.survey.value_offset
    return _state(option, address, option_at(record.address).occurrences)


def shown_state(engine: Engine, option: PlannedOption) -> OptionState | None:
    """The state that LLVM sees on this thread inside a context. None outside, or without storage there."""
    if not _has_storage(option):
        return None
    assert option.slot is not None
    own = storage_shown(engine.index, option.slot)
    if own is None:
        return None
    value = own + engine.survey.value_offset
    if option.record.type.external:
        variable = storage_shown(engine.index, option.variable_slot)
        assert variable is not None  # both belong to one activation
        value = variable
    return _state(option, value, option_at(own).occurrences)


def outside_contexts(engine: Engine, option: PlannedOption, ours: CoveredStorage) -> OptionState:
    """As `live_state`, without what contexts with `process_wide="exclusive"` have changed (`ours`)."""
    record = option.record
    address = record.variable or record.address + engine.survey.value_offset
    at, size = _OCCURRENCES
    occurrences = read_bytes(ours.place(record.address + at), size)
    return _state(option, ours.place(address), int.from_bytes(occurrences, "little"))


def registered_state(engine: Engine, option: PlannedOption) -> OptionState:
    """The state from `cl::init`, independent of later changes.

    For a list that contexts refuse, it is known only if `cl::list_init` gave nothing. Otherwise the state is
    not readable.
    """
    record, space = option.record, engine.space
    offset = engine.survey.value_offset
    if _has_storage(option):
        assert option.slot is not None
        if record.type.external:
            return _state(option, space.default_address(option.variable_slot), 0)
        return _state(option, space.default_address(option.slot) + offset, 0)
    if record.type.kind == Kind.list:
        begin, end = read_words(record.address + offset + _LIST_DEFAULTS, 2)
        return OptionState([], 0) if begin == end else OptionState(None, 0, False)
    if record.type.kind in (Kind.bits, Kind.set):
        return OptionState([], 0)
    return OptionState(read_default(option, offset), 0, _is_readable(option))


def drifted_states(engine: Engine, drift: Setting) -> dict[int, OptionState]:
    """Address of the option -> state, for every option in `drift`."""
    return {
        option.record.address: _state(option, storage.value, option_at(storage.option).occurrences)
        for option, storage in engine.drifted(drift)
    }


def _has_storage(option: PlannedOption) -> bool:
    return option.scope != "process" and option.slot is not None


def _state(option: PlannedOption, address: int, occurrences: int) -> OptionState:
    readable = _is_readable(option)
    return OptionState(read_value(option, address) if readable else None, occurrences, readable)


def _is_readable(option: PlannedOption) -> bool:
    return bool(option.record.type.kind != Kind.other)
