"""The state of an option under a context, as LLVM can find it out: its value, and whether it was given."""

from __future__ import annotations

import os

from optctx import _native
from optctx._native import NO_SLOT, Context, Kind
from optctx.engine.attach import Engine
from optctx.plan.plan import PlannedOption
from optctx.registry.values import Value, read_value

__all__ = ["changed_options", "process_states", "state_under", "value_under"]


def value_under(engine: Engine, context: Context, option: PlannedOption) -> Value:
    """The value that LLVM sees under the context. The option must be scopable."""
    assert option.slot is not None
    if option.variable_slot != NO_SLOT:
        return read_value(option, context.address(option.variable_slot))
    return read_value(option, context.address(option.slot) + engine.survey.value_offset)


def state_under(engine: Engine, context: Context, option: PlannedOption) -> str:
    """A text that identifies the state of a scopable option in every process.

    For a value without a readable form it is the text that LLVM was given. If that is unknown, because the
    option was set process-wide, every call returns a different text.
    """
    assert option.slot is not None
    if option.record.type.kind == Kind.other:
        text = context.text(option.slot)
        return f"given {text!r}" if text else os.urandom(16).hex()
    given = _native.option_at(context.address(option.slot)).occurrences != 0
    return f"{'given' if given else 'not given'} {_exact(value_under(engine, context, option))}"


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
