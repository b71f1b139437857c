"""Attributes that are computed on first use, and names of packages that are imported then."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


def later(
    package: str, where: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Make the `__getattr__` and the `__dir__` of a package, some of whose names are imported on first use.

    `where`: the modules that have these names. The package is to define both where no type checker looks, for
    which every other name would stop being an error.
    """
    modules = {name: module for module, names in where.items() for name in names}

    def get(name: str) -> object:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(modules[name]), name)
        return vars(sys.modules[package]).setdefault(name, found)

    return get, lambda: sorted({*vars(sys.modules[package]), *modules})


class lazy(Generic[T]):  # noqa: N801  a decorator
    """As `functools.cached_property`, without the lock that it holds before Python 3.12.

    A child of fork would find that lock held by a thread that it does not have. Two threads that ask at once
    may both compute the value, so both must compute the same.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value
