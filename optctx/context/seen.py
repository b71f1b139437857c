"""The context whose values LLVM sees here: of the running task, or of C++ code that has entered one."""

from __future__ import annotations

from optctx import _native
from optctx.context.bases import seen_in_python, thread_scope
from optctx.context.callbacks import mode_of
from optctx.context.context import OptionContext
from optctx.engine.engine import Engine
from optctx.values.layers import Layers

__all__ = ["seen"]


def seen(engine: Engine, what: str) -> OptionContext | None:
    """Return the innermost context of this task or of C++ code below it. None outside any.

    What code inside has given to LLVM's own setters is among its values (`OptionContext.with_sets`). `what`:
    what the caller is about to do, for messages. Raises ScopeError as `check_in_line` does.
    """
    context = seen_in_python(engine, what)
    scope = thread_scope(engine)
    return context if scope is None else _of_thread(engine, scope)


def _of_thread(engine: Engine, scope: _native.ThreadScope) -> OptionContext:
    """Make a context of the values that C++ code has put in force. Reads in it count for those."""
    layers = Layers.of_thread(engine, scope)
    return OptionContext._of(layers.beside(()), layers, "ignore", mode_of(scope.sets), ())
