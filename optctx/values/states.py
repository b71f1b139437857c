"""The state of an option as LLVM can find it out: its value, and how often it was given.

For the process, and under a context; as objects to compare here, and as texts that identify a state in every
process. From those of the options that a compilation read, a key is made.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optctx import _native
from optctx._native import (
    Context,
    CoveredStorage,
    Kind,
    Setting,
    option_at,
    read_bytes,
    read_words,
    storage_shown,
)
from optctx.engine.engine import Engine
from optctx.plan.plan import PlannedOption
from optctx.values.read_values import Value, read_default, read_value

__all__ = [
    "OptionState",
    "changed_options",
    "drifted_states",
    "fingerprint_of",
    "live_state",
    "outside_contexts",
    "process_states",
    "registered_state",
    "shown_state",
    "state_under",
    "states_of",
    "value_under",
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


def live_state(option: PlannedOption) -> OptionState:
    """The state in LLVM's own storage at this moment."""
    return _state(option, option.live, option_at(option.record.address).occurrences)


def shown_state(engine: Engine, option: PlannedOption) -> OptionState | None:
    """The state that LLVM sees on this thread inside a context. None outside, or without storage there."""
    own = storage_shown(engine.index, option.slot) if option.has_storage and option.slot is not None else None
    if own is None:
        return None
    # The variable belongs to the same activation.
    value = option.value_in(lambda slot: storage_shown(engine.index, slot) or 0)
    return _state(option, value, option_at(own).occurrences)


def outside_contexts(option: PlannedOption, ours: CoveredStorage) -> OptionState:
    """As `live_state`, without what contexts with `process_wide="exclusive"` have changed (`ours`)."""
    at, size = _OCCURRENCES
    occurrences = read_bytes(ours.place(option.record.address + at), size)
    return _state(option, ours.place(option.live), int.from_bytes(occurrences, "little"))


def registered_state(engine: Engine, option: PlannedOption) -> OptionState:
    """The state from `cl::init`, independent of later changes.

    For a list that contexts refuse, it is known only if `cl::list_init` gave nothing. Otherwise the state is
    not readable.
    """
    record = option.record
    if option.has_storage:
        return _state(option, option.value_in(engine.space.default_address), 0)
    if record.type.kind == Kind.list:
        begin, end = read_words(record.address + option.value_offset + _LIST_DEFAULTS, 2)
        return OptionState([], 0) if begin == end else OptionState(None, 0, False)
    if record.type.kind in (Kind.bits, Kind.set):
        return OptionState([], 0)
    return OptionState(read_default(option), 0, _is_readable(option))


def drifted_states(engine: Engine, drift: Setting) -> dict[int, OptionState]:
    """Address of the option -> state, for every option in `drift`."""
    return {
        option.record.address: _state(option, storage.value, option_at(storage.option).occurrences)
        for option, storage in engine.drifted(drift)
    }


def _state(option: PlannedOption, address: int, occurrences: int) -> OptionState:
    readable = _is_readable(option)
    return OptionState(read_value(option, address) if readable else None, occurrences, readable)


def _is_readable(option: PlannedOption) -> bool:
    return bool(option.record.type.kind != Kind.other)


def value_under(context: Context, option: PlannedOption) -> Value:
    """The value that LLVM sees under the context. The option must be scopable."""
    return read_value(option, option.value_in(context.address))


def state_under(context: Context, option: PlannedOption) -> str:
    """A text that identifies the state of a scopable option in every process.

    For a value without a readable form it is the text that LLVM was given. If that is unknown, because the
    option was set process-wide, every call returns a different text.
    """
    assert option.slot is not None
    if option.record.type.kind == Kind.other:
        text = context.text(option.slot)
        return f"given {text!r}" if text else os.urandom(16).hex()
    given = _native.option_at(context.address(option.slot)).occurrences != 0
    return f"{'given' if given else 'not given'} {_exact(value_under(context, option))}"


def changed_options(engine: Engine, context: Context) -> dict[str, PlannedOption]:
    """Name -> option, for scopable options that the context does not have as registered."""
    owners = engine.plan.owners
    changed = [owners[slot] for slot in context.changed if slot in owners]
    return {option.record.name: option for option in changed}


def process_states(engine: Engine) -> list[str]:
    """Name and state of each option that cannot be scoped. Reads of these options are not seen."""
    return [
        f"{option.record.name}: {_process_state(engine, option)}"
        for option in engine.plan.options.values()
        if option.scope == "process" and not option.record.alias_of
    ]


def _process_state(engine: Engine, option: PlannedOption) -> str:
    storage = engine.process_wide(option)
    occurrences = _native.option_at(storage.option).occurrences
    record = option.record
    if not record.type.supported or record.type.kind == Kind.other or (record.callback and occurrences):
        # The value that was given cannot be read back.
        return os.urandom(16).hex() if occurrences else "not given"
    return f"{'given' if occurrences else 'not given'} {_exact(read_value(option, storage.value))}"


def _exact(value: Value) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_exact, value))}]"
    return value.hex() if isinstance(value, float) else repr(value)


_FINGERPRINT_FORMAT = 1  # of the hashed text


def fingerprint_of(
    engine: Engine, scopes: Iterable[tuple[Context, Sequence[PlannedOption]]], process: Sequence[str]
) -> str:
    """Hash what was read, and under which values.

    `scopes`: contexts in the order in which they were first entered, each with the options read under it.
    `process`: the states of the options that cannot be scoped (`process_states`).
    """
    parts = [
        (sorted(o.record.name for o in read), states_of(engine, context, read)) for context, read in scopes
    ]
    text = json.dumps([_FINGERPRINT_FORMAT, engine.image.build_id, parts, list(process)])
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def states_of(engine: Engine, context: Context, read: Iterable[PlannedOption]) -> list[tuple[str, str]]:
    """(name, state) of the read options that are not as registered in the context.

    The build id stands for the registered states. If the context changes options for the whole process, these
    changes follow under an empty name.
    """
    changed = changed_options(engine, context)
    names = sorted(changed.keys() & {option.record.name for option in read})
    states = [(name, state_under(context, changed[name])) for name in names]
    process_wide = context.process_wide_text
    return [*states, ("", process_wide)] if process_wide else states
