"""Options that cannot be scoped, for contexts that are allowed to change them for the whole process."""

from __future__ import annotations

from collections.abc import Iterable

from optctx._native import Change, ProcessWide, call_pointer
from optctx.context.override import Override
from optctx.context.scopable import BISECTION, DEBUG_TYPES, VARIABLE_SIZES
from optctx.engine.attach import Engine
from optctx.errors import UnsupportedImageError

__all__ = ["changes_of"]

_SET_DEBUG_TYPES = "_ZN4llvm20setCurrentDebugTypesEPPKcj"
_PASS_GATE = "_ZN4llvm17getGlobalPassGateEv"
_BISECTOR = "_ZZL14getOptBisectorvE11OptBisector"


def changes_of(engine: Engine, overrides: Iterable[Override]) -> ProcessWide | None:
    """What the overrides that cannot be scoped change process-wide, or None where there are none."""
    exclusive = [override for override in overrides if override.setting is None]
    if not exclusive:
        return None
    exclusive.sort(key=lambda override: override.option.record.name)
    key = " ".join(arg for override in exclusive for arg in override.args())
    changes = [_change(engine, override) for override in exclusive]
    return ProcessWide(engine.space, changes, key, engine.image.symbol(_SET_DEBUG_TYPES) or 0)


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
        _bisector(engine) if record.name in BISECTION else (0, 0),
        record.name in DEBUG_TYPES,
    )


def _bisector(engine: Engine) -> tuple[int, int]:
    """(address, size) of the object that counts passes for a bisection, made if it was not yet."""
    make, address = engine.image.symbol(_PASS_GATE), engine.image.symbol(_BISECTOR)
    symbol = engine.image.object_at(address) if address is not None else None
    if make is None or symbol is None:
        raise UnsupportedImageError(
            f"{engine.image.path}: expected {_PASS_GATE} and {_BISECTOR}, found neither or one"
        )
    call_pointer(make)
    return symbol.address, symbol.size
