"""Give each thread its own LLVM options on an unmodified llvmlite wheel.

    from optctx import OptionContext
    with OptionContext({"unroll-count": 4}, inline_threshold=500):
        ...  # LLVM code that this thread runs reads these values; other threads see their own

Importing changes nothing, and each name is imported when it is used. The first use attaches to the LLVM in
this process.
"""

try:  # in which no Python delays an import: this one has those of optctx run where they stand
    from optctx.importing import later
except ImportError:
    raise

TYPE_CHECKING = False  # typing's own would be an import
if TYPE_CHECKING:
    from optctx.cache import CompileCache
    from optctx.context import OptionContext, attach, bound, contained, current, detach, lookup, tool, unbind
    from optctx.context.wrap import propagating, wrap
    from optctx.drifting import Drift, DriftEvent, Drifts, Watcher
    from optctx.drifting.drift import drift
    from optctx.drifting.watch import watch
    from optctx.engine.report import info
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
    from optctx.hosts.llvmlite.compiling import emit_assembly, emit_object, run_passes
    from optctx.image.loaded import loaded_image
    from optctx.links import LinkReport, check_link, stamp
    from optctx.reads import Log, Read, Unread, record
    from optctx.values.registry import Option, registry

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

_WHERE = {
    "optctx.cache": ("CompileCache",),
    "optctx.context": (
        "OptionContext",
        "attach",
        "bound",
        "contained",
        "current",
        "detach",
        "lookup",
        "tool",
        "unbind",
    ),
    "optctx.context.wrap": ("propagating", "wrap"),
    "optctx.drifting": ("Drift", "DriftEvent", "Drifts", "Watcher", "drift", "watch"),
    "optctx.engine.report": ("info",),
    "optctx.errors": (
        "CacheWarning",
        "ContainmentWarning",
        "ContextMismatchError",
        "ContextMismatchWarning",
        "Interrupted",
        "LinkMismatchError",
        "OptctxError",
        "OptionTypeError",
        "OptionValueError",
        "OutsideScopeError",
        "OutsideScopeWarning",
        "PassPipelineError",
        "ProcessWideOptionError",
        "ScopeError",
        "UnknownOptionError",
        "UnreadOptionError",
        "UnreadOptionWarning",
        "UnsupportedImageError",
        "UntrustedOptionError",
        "UntrustedOptionWarning",
    ),
    "optctx.hosts.llvmlite.compiling": ("emit_assembly", "emit_object", "run_passes"),
    "optctx.image.loaded": ("loaded_image",),
    "optctx.links": ("LinkReport", "check_link", "stamp"),
    "optctx.reads": ("Log", "Read", "Unread", "record"),
    "optctx.values.registry": ("Option", "registry"),
}


def get_include() -> str:
    """Return the folder for a C++ compiler's -I, which has `optctx/optctx.hpp`."""
    import os

    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


if not TYPE_CHECKING:  # where every other name stays an error
    _imported, _names = later(__name__, _WHERE)

    def __getattr__(name: str) -> object:
        """A name or module that is imported on first use, or `__version__`, from the installed metadata."""
        if name == "__version__":
            from importlib.metadata import version

            return version(__name__)
        if name in __all__:
            if name not in _WHERE["optctx.errors"]:
                import optctx.assembling  # noqa: F401  a thread that forks would leave a later import half done
        elif not name.startswith("_"):
            from importlib import import_module, util

            module = f"{__name__}.{name}"
            if util.find_spec(module) is not None:
                return import_module(module)
        return _imported(name)

    def __dir__() -> list[str]:
        return [*_names(), "__version__"]
