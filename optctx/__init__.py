"""LLVM's command-line options per thread, on the LLVM that is already installed.

    from optctx import OptionContext
    with OptionContext({"unroll-count": 4}, inline_threshold=500):
        ...  # LLVM code that this thread runs reads these values; other threads see their own

Importing changes nothing; the first use attaches to the LLVM in this process.
"""

from optctx.context import OptionContext, bound, current, lookup, unbind
from optctx.drifting import Drift, DriftEvent, Drifts, Watcher, drift, watch
from optctx.engine.attach import attach_now as attach
from optctx.engine.attach import detach
from optctx.engine.report import info
from optctx.errors import (
    ContextMismatchError,
    ContextMismatchWarning,
    DriftWarning,
    EngineWarning,
    OptctxError,
    OptionTypeError,
    OptionValueError,
    PassPipelineError,
    ProcessWideOptionError,
    ScopeError,
    UnknownOptionError,
    UnsupportedImageError,
)
from optctx.headers import get_include
from optctx.passes import emit_assembly, emit_object, run_passes
from optctx.registry import Option, registry
from optctx.tasks import propagating, wrap

__all__ = [
    "ContextMismatchError",
    "ContextMismatchWarning",
    "Drift",
    "DriftEvent",
    "DriftWarning",
    "Drifts",
    "EngineWarning",
    "OptctxError",
    "Option",
    "OptionContext",
    "OptionTypeError",
    "OptionValueError",
    "PassPipelineError",
    "ProcessWideOptionError",
    "ScopeError",
    "UnknownOptionError",
    "UnsupportedImageError",
    "Watcher",
    "attach",
    "bound",
    "current",
    "detach",
    "drift",
    "emit_assembly",
    "emit_object",
    "get_include",
    "info",
    "lookup",
    "propagating",
    "registry",
    "run_passes",
    "unbind",
    "watch",
    "wrap",
]
