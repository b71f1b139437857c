"""What objects of a subclass have beside the parts of their base: attributes, for copies and pickles."""

from __future__ import annotations

import copyreg
from typing import Any, TypeVar

__all__ = ["state_of", "with_state"]

T = TypeVar("T")

State = Any  # (attributes, slots), or what `__getstate__` of a subclass returns; None for an object without


def state_of(value: object, base: type) -> State:
    """The state that pickle takes for an object whose slots of `base` are made again otherwise."""
    getstate = getattr(type(value), "__getstate__", None)
    if getstate is not getattr(object, "__getstate__", None):
        return getstate(value)  # type: ignore[misc]
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
