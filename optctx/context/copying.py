"""What copies and pickles of a context are made of: layers as text, and the attributes of a subclass."""

from __future__ import annotations

import copyreg
from typing import Any, TypeVar

from optctx.engine.attach import is_default
from optctx.errors import OptionTypeError, shown
from optctx.values.layers import HasLayers
from optctx.values.texts import Texts

T = TypeVar("T")

State = Any  # (attributes, slots), or what `__getstate__` of a subclass returns; None for an object without


def layers_as_text(context: HasLayers) -> tuple[dict[str, Texts], dict[str, Texts]]:
    """Return the layers of a context for a pickle, as `Layers.portable` does.

    Raises OptionTypeError for a context of another LLVM than llvmlite's, which another process may not have.
    """
    engine = context._layers.engine
    if not is_default(engine):
        raise OptionTypeError(
            f"cannot pickle {shown(context)}: it is for the LLVM of {engine.image.path}, and only a "
            "context for llvmlite's LLVM means the same in another process; make it again there"
        )
    return context._layers.portable()


def state_of(value: object, base: type) -> State:
    """Return the state of an object for a pickle, without the slots of `base`, which are made again."""
    if type(value).__getstate__ is not object.__getstate__:
        return value.__getstate__()
    names = set(_slots(type(value))) - set(_slots(base))
    slots = {name: getattr(value, name) for name in sorted(names) if hasattr(value, name)}
    attributes = dict(getattr(value, "__dict__", {}))
    return (attributes, slots) if attributes or slots else None


def with_state(value: T, state: State) -> T:
    """Give an object the state, as unpickling does, and return it."""
    if state is None:
        return value
    setstate = getattr(type(value), "__setstate__", None)
    if setstate is not None:
        setstate(value, state)
        return value
    attributes, slots = state if isinstance(state, tuple) else (state, {})
    for name, each in {**attributes, **slots}.items():
        object.__setattr__(value, name, each)
    return value


def _slots(kind: type) -> list[str]:
    names: list[str] = copyreg._slotnames(kind)  # type: ignore[attr-defined]
    return names
