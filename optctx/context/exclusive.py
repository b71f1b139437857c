"""Options that cannot be scoped, for contexts that are allowed to change them for the whole process."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from optctx._native import Change, ProcessWide, call_pointer
from optctx.context.override import Override
from optctx.context.scopable import BISECTION, DEBUG_TYPES, VARIABLE_SIZES
from optctx.engine.attach import Engine
from optctx.errors import UnsupportedImageError

__all__ = ["changes_of"]

_DEBUG_TYPES = "_ZN4llvmL16CurrentDebugTypeE"
_SET_DEBUG_TYPES = "_ZN4llvm20setCurrentDebugTypesEPPKcj"
_PASS_GATE = "_ZN4llvm17getGlobalPassGateEv"
_BISECTOR = "_ZZL14getOptBisectorvE11OptBisector"
_DEBUG_FLAG = "_ZN4llvm9DebugFlagE"


def changes_of(engine: Engine, overrides: Iterable[Override]) -> ProcessWide | None:
    """What the overrides that cannot be scoped change process-wide, or None where there are none."""
    exclusive = [override for override in overrides if override.setting is None]
    if not exclusive:
        return None
    exclusive.sort(key=lambda override: override.option.record.name)
    key = shlex.join(arg for override in exclusive for arg in override.args())
    changes = [_change(engine, override) for override in exclusive]
    return ProcessWide.make(engine.space, changes, key, _address(engine, _SET_DEBUG_TYPES))


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
        variable,
        _state(engine, record.name),
        _address(engine, _DEBUG_TYPES) if record.name in DEBUG_TYPES else 0,
    )


def _state(engine: Engine, name: str) -> tuple[int, int]:
    """(address, size) of what parsing the option changes besides its value, (0, 0) if nothing."""
    if name in BISECTION:
        call_pointer(_address(engine, _PASS_GATE))  # makes the object if it was not made yet
        return _object(engine, _BISECTOR)
    if name in DEBUG_TYPES:
        return _object(engine, _DEBUG_FLAG)
    return 0, 0


def _object(engine: Engine, name: str) -> tuple[int, int]:
    symbol = engine.image.object_at(_address(engine, name))
    assert symbol is not None  # it has a name
    return symbol.address, symbol.size


def _address(engine: Engine, name: str) -> int:
    address = engine.image.symbol(name)
    if address is None:
        raise UnsupportedImageError(f"{engine.image.path}: expected the symbol {name}, found none")
    return address
