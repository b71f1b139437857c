"""llvmlite's functions of its library: called without llvmlite's lock, and watched as others call them.

Methods of classes in Python are wrapped instead (`wrap_method`).

Everything that calls the library through llvmlite does so through `llvmlite.binding.ffi.lib`, which keeps one
wrapper for each function. The wrapper takes the lock and calls the function of ctypes' that it holds. A
watched function has a Watched in that place.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
from collections.abc import Callable
from typing import Any

Handler = Callable[[Any, tuple[Any, ...]], Any]

_WRAPPED = "_optctx"  # attribute of methods that stand in front of others


class Watched:
    """A function of ctypes' whose calls, with the lock held, become `handler(function, arguments)`."""

    __slots__ = ("function", "handler")

    def __init__(self, function: Any, handler: Handler) -> None:
        object.__setattr__(self, "function", function)
        object.__setattr__(self, "handler", handler)

    def __call__(self, *arguments: Any) -> Any:
        return self.handler(self.function, arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.function, name, value)  # argtypes, restype, errcheck


@functools.cache
def binding() -> Any:
    """Return `llvmlite.binding`.

    Importing optctx works without it. A finaliser that runs as Python ends can import nothing any more.
    """
    return importlib.import_module("llvmlite.binding")


def llvmlite_lock() -> Any:
    """Return llvmlite's lock: every call through it holds it."""
    return binding().ffi.lib._lock


def function_names() -> list[str]:
    """Return the names of the functions that llvmlite's modules have declared."""
    return list(binding().ffi.lib._fntab)


def watch(name: str, handler: Handler) -> None:
    """Hand calls of a function to the handler from now on, in the whole process. Again does nothing."""
    wrapper = getattr(binding().ffi.lib, name)
    if not isinstance(wrapper._cfn, Watched):
        wrapper._cfn = Watched(wrapper._cfn, handler)


def wrap_method(owner: type, name: str, instead: Callable[..., Any]) -> None:
    """Make calls of a method `instead(original, self, ...)`, in the whole process. Again does nothing."""
    original = owner.__dict__[name]
    if is_wrapped(owner, name):
        return

    @functools.wraps(original)
    def wrapper(*args: Any, **named: Any) -> Any:
        return instead(original, *args, **named)

    setattr(wrapper, _WRAPPED, True)
    setattr(owner, name, wrapper)


def is_wrapped(owner: type, name: str) -> bool:
    return hasattr(owner.__dict__[name], _WRAPPED)


def function(name: str) -> Any:
    """Return the function of ctypes' that calls the library without llvmlite's lock, watched or not."""
    found = getattr(binding().ffi.lib, name)._cfn
    return found.function if isinstance(found, Watched) else found


def code_address(function: Any) -> int:
    """Return the address at which a function of ctypes' begins in the library."""
    return ctypes.c_void_p.from_address(ctypes.addressof(function)).value or 0


def address_of(thing: Any) -> int:
    """Return the address behind an argument or result of such a function; 0 if it is not a pointer."""
    pointer = getattr(thing, "_ptr", thing)
    try:
        return ctypes.addressof(pointer.contents)  # `ctypes.cast` would leave a reference cycle
    except (AttributeError, ValueError):  # not a pointer, or a null pointer
        return 0
