"""Whether a function reaches a context, by the types of its parameters.

Exactly: a context is *reachable* if the function's demangled name has, as a parameter (object,
pointer, reference, or `std::unique_ptr` or `std::shared_ptr` of it) or as its class, one of `CONTEXTS` or a
class of `LEADING`, from each object of which a public accessor leads to one. A constructor's or destructor's
own object does not count: it is not complete. Containers, templates' arguments, captured variables and
globals do not count. Names do not tell static member functions from others, so those of a context count as
its methods. A function with C linkage has no parameters in its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from evidence.reads.classes import CONTEXTS, LEADING
from evidence.reads.signature import Signature, pointee, signature_of


class Reach(NamedTuple):
    """How a function reaches a context. `via`: "Function (parameter)", "SelectionDAGISel, MF (this)"."""

    context: str
    via: str


@lru_cache(1 << 16)
def reaches_in(function: str) -> tuple[Reach, ...]:
    """The contexts that a function (demangled) reaches, directly first, each once."""
    signature = signature_of(function)
    found: dict[str, Reach] = {}
    for table in (_direct, _leading):
        for name, role in _objects(signature):
            reach = table(name, role)
            if reach is not None:
                found.setdefault(reach.context, reach)
    return tuple(found.values())


def _objects(signature: Signature) -> Iterator[tuple[str, str]]:
    """(class, role) of the objects that a function is given."""
    if signature.scope and not signature.constructs and not signature.destroys:
        yield signature.scope, "this"
    for parameter in signature.parameters or ():
        yield pointee(parameter), "parameter"


def _direct(name: str, role: str) -> Reach | None:
    context = _first(name, CONTEXTS)
    return None if context is None else Reach(CONTEXTS[context], f"{_short(name)} ({role})")


def _leading(name: str, role: str) -> Reach | None:
    found = _first(name, LEADING)
    if found is None:
        return None
    context, accessor = LEADING[found]
    return Reach(context, f"{_short(name)}, {accessor} ({role})")


@lru_cache(1 << 14)
def _matches(name: str, pattern: str) -> bool:
    return re.fullmatch(pattern, name) is not None


def _first(name: str, patterns: Iterable[str]) -> str | None:
    return next((pattern for pattern in patterns if _matches(name, pattern)), None)


def _short(name: str) -> str:
    return name.removeprefix("llvm::")
