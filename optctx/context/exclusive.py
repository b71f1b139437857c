"""Process-wide changes of options that cannot be scoped, for contexts that are allowed to make them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from optctx._native import Change, ProcessWide, call_pointer
from optctx.context.override import Override
from optctx.context.scopable import BISECTION, DEBUG_TYPES, VARIABLE_SIZES
from optctx.engine.attach import Engine
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import Fact, find_object, need
from optctx.image.facts.names import DEBUG_FLAG, OPT_BISECTOR, PASS_GATE, SET_DEBUG_TYPES
from optctx.image.printing import find_debug_types

__all__ = ["changes_of"]


def changes_of(engine: Engine, overrides: Iterable[Override]) -> ProcessWide | None:
    """The process-wide changes for those overrides that cannot be scoped. None if all can be."""
    exclusive = [override for override in overrides if override.setting is None]
    if not exclusive:
        return None
    exclusive.sort(key=lambda override: override.option.record.name)
    key = shlex.join(arg for override in exclusive for arg in override.args())
    changes = [_change(engine, override) for override in exclusive]
    debugs = any(override.option.record.name in DEBUG_TYPES for override in exclusive)
    set_types = need(engine.image, SET_DEBUG_TYPES).address if debugs else 0
    return ProcessWide.make(engine.space, changes, key, set_types)


def _change(engine: Engine, override: Override) -> Change:
    record = override.option.record
    kind = record.type.kind
    variable = (
        (record.variable, record.variable_size or VARIABLE_SIZES.get(kind, 1)) if record.variable else (0, 0)
    )
    return Change(
        record.address,
        override.name,
        list(override.texts),
        kind,
        engine.survey.value_offset,
        record.has_defaults,
        variable,
        _state(engine, record.name),
        _debug_types(engine) if record.name in DEBUG_TYPES else (0, 0),
    )


def _state(engine: Engine, name: str) -> tuple[int, int]:
    """(address, size) of the object that parsing the option changes besides its value, or (0, 0)."""
    if name in BISECTION:
        call_pointer(need(engine.image, PASS_GATE).address)  # makes the object if it does not exist yet
        return _object(engine, OPT_BISECTOR)
    if name in DEBUG_TYPES:
        return _object(engine, DEBUG_FLAG)
    return 0, 0


def _debug_types(engine: Engine) -> tuple[int, int]:
    """(address of the list of debug types, size of an element in bytes)."""
    types = find_debug_types(engine.image)
    return types.address, types.type_size


def _object(engine: Engine, fact: Fact[None]) -> tuple[int, int]:
    need(engine.image, fact)
    symbol = find_object(engine.image, fact)
    if symbol is None:
        raise UnsupportedImageError(f"{engine.image.path}: expected {fact.what} to be an object, found none")
    return symbol.address, symbol.size
