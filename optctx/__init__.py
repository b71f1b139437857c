"""Give each thread its own LLVM options on an unmodified llvmlite wheel.

    from optctx import OptionContext
    with OptionContext({"unroll-count": 4}, inline_threshold=500):
        ...  # LLVM code that this thread runs reads these values; other threads see their own

Importing changes nothing. The first use attaches to the LLVM in this process.
"""

import sys
from typing import TYPE_CHECKING

try:  # in which no Python delays an import: this one refuses what cannot run, and loads native code
    from optctx.starting import get_include
except ImportError:
    raise

# isort: split
from optctx.context import OptionContext, attach, bound, contained, current, detach, lookup, tool, unbind
from optctx.engine.attach import when_attached
from optctx.engine.host import use_hosts
from optctx.errors import (
    CacheWarning,
    ContainmentWarning,
    ContextMismatchError,
    ContextMismatchWarning,
    Interrupted,
    LinkMismatchError,
    OptctxError,
    OptionTypeError,
    OptionValueError,
    OutsideScopeError,
    OutsideScopeWarning,
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
from optctx.hosts.llvm_c import LLVM_C
from optctx.hosts.llvmlite.llvmlite_host import LLVMLITE
from optctx.image.loaded import loaded_image
from optctx.lazy import later
from optctx.values import Option, registry

if TYPE_CHECKING:  # imported on first use
    from optctx.cache import CompileCache
    from optctx.context.wrap import propagating, wrap
    from optctx.drifting import Drift, DriftEvent, Drifts, Watcher
    from optctx.drifting.drift import drift
    from optctx.drifting.watch import watch
    from optctx.engine.report import info
    from optctx.hosts.llvmlite.compiling import emit_assembly, emit_object, run_passes
    from optctx.links import LinkReport, check_link, stamp
    from optctx.reads import Log, Read, Unread, record

    __version__: str

__all__ = [
    "CacheWarning",
    "CompileCache",
    "ContainmentWarning",
    "ContextMismatchError",
    "ContextMismatchWarning",
    "Drift",
    "DriftEvent",
    "Drifts",
    "Interrupted",
    "LinkMismatchError",
    "LinkReport",
    "Log",
    "OptctxError",
    "Option",
    "OptionContext",
    "OptionTypeError",
    "OptionValueError",
    "OutsideScopeError",
    "OutsideScopeWarning",
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
    "contained",
    "current",
    "detach",
    "drift",
    "emit_assembly",
    "emit_object",
    "get_include",
    "info",
    "loaded_image",
    "lookup",
    "propagating",
    "record",
    "registry",
    "run_passes",
    "stamp",
    "tool",
    "unbind",
    "watch",
    "wrap",
]

# Importing optctx takes half as long without them.
_LATER = {
    "optctx.cache": ("CompileCache",),
    "optctx.context.wrap": ("propagating", "wrap"),
    "optctx.drifting": ("Drift", "DriftEvent", "Drifts", "Watcher", "drift", "watch"),
    "optctx.engine.report": ("info",),
    "optctx.links": ("LinkReport", "check_link", "stamp"),
    "optctx.hosts.llvmlite.compiling": ("emit_assembly", "emit_object", "run_passes"),
    "optctx.reads": ("Log", "Read", "Unread", "record"),
}


def _numba_begins() -> None:
    """Have Numba's own cache keep scopes apart. Called before attaching, and by Numba (`optctx_numba`)."""
    if "numba.core.caching" in sys.modules:
        from optctx.plain_numba import begin

        begin()


use_hosts(LLVMLITE, LLVM_C)
when_attached(_numba_begins)

if not TYPE_CHECKING:  # where every other name stays an error
    _imported, _names = later(__name__, _LATER)

    def __getattr__(name: str) -> object:
        """A name that is imported on first use, or `__version__`, read from the installed metadata."""
        if name == "__version__":
            from importlib.metadata import version

            return version(__name__)
        return _imported(name)

    def __dir__() -> list[str]:
        return [*_names(), "__version__"]
