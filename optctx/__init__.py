"""Give each thread its own LLVM options on an unmodified llvmlite wheel.

    from optctx import OptionContext
    with OptionContext({"unroll-count": 4}, inline_threshold=500):
        ...  # LLVM code that this thread runs reads these values; other threads see their own

Importing changes nothing. The first use attaches to the LLVM in this process.
"""

from typing import TYPE_CHECKING

from optctx import interpreter, native_module  # noqa: F401  # refuse what cannot run  # isort: split
from optctx.cache import CompileCache
from optctx.context import OptionContext, attach, bound, current, detach, lookup, unbind
from optctx.drifting import Drift, DriftEvent, Drifts, Watcher, drift, watch
from optctx.engine.report import info
from optctx.errors import (
    CacheWarning,
    ContextMismatchError,
    ContextMismatchWarning,
    DriftWarning,
    EngineWarning,
    LinkMismatchError,
    OptctxError,
    OptionTypeError,
    OptionValueError,
    PassPipelineError,
    ProcessWideOptionError,
    ScopeError,
    UnknownOptionError,
    UnreadOptionError,
    UnreadOptionWarning,
    UnsupportedImageError,
    UntrustedOptionError,
    UntrustedOptionWarning,
)
from optctx.headers import get_include
from optctx.links import check_link, stamp
from optctx.passes import emit_assembly, emit_object, run_passes
from optctx.records import Log, Read, Unread, record
from optctx.registry import Option, registry
from optctx.tasks import propagating, wrap

__all__ = [
    "CacheWarning",
    "CompileCache",
    "ContextMismatchError",
    "ContextMismatchWarning",
    "Drift",
    "DriftEvent",
    "DriftWarning",
    "Drifts",
    "EngineWarning",
    "LinkMismatchError",
    "Log",
    "OptctxError",
    "Option",
    "OptionContext",
    "OptionTypeError",
    "OptionValueError",
    "PassPipelineError",
    "ProcessWideOptionError",
    "Read",
    "ScopeError",
    "UnknownOptionError",
    "Unread",
    "UnreadOptionError",
    "UnreadOptionWarning",
    "UnsupportedImageError",
    "UntrustedOptionError",
    "UntrustedOptionWarning",
    "Watcher",
    "attach",
    "bound",
    "check_link",
    "current",
    "detach",
    "drift",
    "emit_assembly",
    "emit_object",
    "get_include",
    "info",
    "lookup",
    "propagating",
    "record",
    "registry",
    "run_passes",
    "stamp",
    "unbind",
    "watch",
    "wrap",
]

__version__: str

if not TYPE_CHECKING:  # where every other name stays an error

    def __getattr__(name: str) -> str:
        """`__version__`, of the installed package. Looked up when it is asked for: it reads a file."""
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib.metadata import version

        return version(__name__)
