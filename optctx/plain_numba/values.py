"""The option values under which LLVM works for Numba: as part of a key, and compared."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection

from llvmlite import binding
from numba.core import config

from optctx.cache.entries import Situation
from optctx.context import OptionContext
from optctx.context.lookups import values_outside
from optctx.context.seen import seen
from optctx.engine.attach import attached
from optctx.engine.engine import Engine
from optctx.errors import ScopeError
from optctx.travelling.attributes import attributes_policy
from optctx.values.states import process_texts

__all__ = ["Values", "outside", "values_here"]

_FORMAT = 2  # of keys and of entries
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS")


class Values:
    """The values of a context at one moment, with all else that is in force for LLVM in this process.

    `context`: None if they cannot be told; then they equal none.
    """

    def __init__(self, engine: Engine, context: OptionContext | None) -> None:
        self.engine = engine
        self.context = context
        self._situation = None if context is None else Situation(engine, context._native)
        parts = [
            *(_FORMAT, engine.image.build_id, binding.get_process_triple(), process_texts(engine)),
            *(attributes_policy(), [repr(getattr(config, name, None)) for name in _SETTINGS]),
        ]
        text = json.dumps(parts, default=repr)
        self.rest = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()

    def key(self, names: Collection[str] | None) -> str:
        """A text for these states of the options `names`, of all if that is None."""
        if self._situation is None:
            return os.urandom(16).hex()
        return self._situation.key(self.rest, sorted(self.engine.options if names is None else names))

    def agree(self, other: Values, names: Collection[str] | None) -> bool:
        """Whether LLVM, if it reads no other options than `names`, does the same under both."""
        return self is other or self.key(names) == other.key(names)


def outside(values: Values) -> Values:
    """Those outside all scopes."""
    return Values(values.engine, values_outside(values.engine))


def values_here(known: Values | None = None) -> Values | None:
    """The values of the scope that this thread is in; None outside all scopes.

    `known`: those of a scope that it may still be in.
    """
    engine = attached()
    if engine is None:
        return None
    try:
        context = seen(engine, "compile with Numba")
    except ScopeError:  # a scope of another task, suspended on this thread
        return Values(engine, None)
    if context is None:
        return None
    if not engine.shares_machines:  # Numba has one, which keeps values of earlier scopes
        return Values(engine, None)
    return known if known is not None and known.context is context else Values(engine, context)
