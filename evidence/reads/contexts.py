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
from collections.abc import Iterator
from functools import lru_cache

from evidence.reads.classes import CONTEXTS, LEADING
from evidence.reads.signature import pointee, signature_of

_CONTEXTS = {**CONTEXTS, **{pattern: context for pattern, (context, _) in LEADING.items()}}


@lru_cache(1 << 16)
def contexts_of(function: str) -> set[str]:
    """The contexts that a function (demangled) reaches."""
    return {context for name in _objects(function) if (context := _context_of(name))}


def _objects(function: str) -> Iterator[str]:
    """The classes of the objects that a function is given."""
    signature = signature_of(function)
    if not signature.constructs and not signature.destroys:
        yield signature.scope
    yield from map(pointee, signature.parameters)


@lru_cache(1 << 14)
def _context_of(name: str) -> str | None:
    return next((context for pattern, context in _CONTEXTS.items() if re.fullmatch(pattern, name)), None)
