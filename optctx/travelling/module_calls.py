"""Calls of LLVM's C API on a module, at the addresses that a library's symbol table gives.

A library need not export these functions. The host's lock is held around each use, so that threads that share
an LLVMContext through the host do not meet in it. All that changes a module is made first, and written in one
native step: an exception that a signal handler raises comes before it or after it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from optctx._native import call_all, inside
from optctx.engine.host import host_of
from optctx.errors import UnsupportedImageError
from optctx.image.facts.fact import Fact
from optctx.image.loaded import Image

__all__ = ["Function", "Write", "typed_functions", "with_module", "write_together"]

Function: TypeAlias = Callable[..., Any]
# A typed function that changes a module, and its arguments: numbers, addresses, texts
Write: TypeAlias = tuple[Function, tuple[int | bytes, ...]]
A = TypeVar("A")
R = TypeVar("R")


def typed_functions(image: Image, facts: Mapping[str, Fact[None]], purpose: str) -> Callable[..., Function]:
    """Return what makes a typed function: (name in `facts`, type of the result, types of the arguments).

    That raises UnsupportedImageError if the library lacks the function: it "cannot `purpose`".
    """

    def typed(name: str, result: type[Any] | None, *arguments: type[Any]) -> Function:
        try:
            address = image.findings.need(facts[name]).address
        except UnsupportedImageError as error:
            raise UnsupportedImageError(
                f"cannot {purpose}: {error}; use a library that optctx supports, with its symbol table"
            ) from error
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    return typed


def with_module(
    image: Image, module: object, make: Callable[[Image], A], function: Callable[..., R], *arguments: object
) -> R:
    """Call `function(make(image), address of the module, *arguments)` with the host's lock held.

    Raises TypeError for anything but a module, OptctxError for one that is closed, and what `make` raises. No
    other thread may use the module's LLVMContext during the call except through the image's host, if that has
    a lock.
    """
    host = host_of(image)
    address = host.module_address(module)
    return inside(host.lock(), function, make(image), address, *arguments)


def write_together(writes: Sequence[Write]) -> None:
    """Make calls that change a module, in one step: an exception leaves all of them made, or none."""
    call_all([[_word(each) for each in (function, *arguments)] for function, arguments in writes])


def _word(passed: Function | bytes | int) -> int:
    """Return what is passed in a register: a number, or the address of a function or of a text."""
    if isinstance(passed, int):
        return passed
    return ctypes.cast(passed, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
