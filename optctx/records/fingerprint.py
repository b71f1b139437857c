"""Makes a key from the options that a compilation read."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from optctx._native import Context
from optctx.engine.attach import Engine
from optctx.plan.plan import PlannedOption
from optctx.records.option_state import changed_options, state_under

__all__ = ["fingerprint_of", "states_of"]

_FORMAT = 1  # of the hashed text


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
    text = json.dumps([_FORMAT, engine.image.build_id, parts, list(process)])
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()


def states_of(engine: Engine, context: Context, read: Iterable[PlannedOption]) -> list[tuple[str, str]]:
    """(name, state) of the read options that are not as registered in the context.

    The build id stands for the registered states. If the context changes options for the whole process, these
    changes follow under an empty name.
    """
    changed = changed_options(engine, context)
    names = sorted(changed.keys() & {option.record.name for option in read})
    states = [(name, state_under(engine, context, changed[name])) for name in names]
    process_wide = context.process_wide_text
    return [*states, ("", process_wide)] if process_wide else states
