"""Give each thread its own LLVM options on an unmodified llvmlite wheel.

    from optctx import OptionContext
    with OptionContext({"unroll-count": 4}, inline_threshold=500):
        ...  # LLVM code that this thread runs reads these values; other threads see their own

Importing changes nothing, and each name is imported when it is used. The first use attaches to the LLVM in
this process.
"""

try:  # in which no Python delays an import: this one has those of optctx run where they stand
    from optctx.importing import import_at_once, later
except ImportError:
    raise

TYPE_CHECKING = False  # typing's own would be an import
if TYPE_CHECKING:  # `A as A` says that this package has the name; of each, _WHERE has the module, too
    # isort: off
    from optctx.cache.cache import CompileCache as CompileCache
    from optctx.context.context import OptionContext as OptionContext
    from optctx.context.lookups import (
        bound as bound,
        contained as contained,
        current as current,
        lookup as lookup,
        tool as tool,
    )
    from optctx.context.wrap import propagating as propagating, wrap as wrap
    from optctx.drifting.drift import Drift as Drift, Drifts as Drifts, drift as drift
    from optctx.drifting.watch import DriftEvent as DriftEvent, Watcher as Watcher, watch as watch
    from optctx.engine.report import info as info
    from optctx.errors import (
        CacheWarning as CacheWarning,
        ContainmentWarning as ContainmentWarning,
        ContextMismatchError as ContextMismatchError,
        ContextMismatchWarning as ContextMismatchWarning,
        Interrupted as Interrupted,
        LinkMismatchError as LinkMismatchError,
        OptctxError as OptctxError,
        OptionTypeError as OptionTypeError,
        OptionValueError as OptionValueError,
        OutsideScopeError as OutsideScopeError,
        OutsideScopeWarning as OutsideScopeWarning,
        PassPipelineError as PassPipelineError,
        ProcessWideOptionError as ProcessWideOptionError,
        ScopeError as ScopeError,
        UnknownOptionError as UnknownOptionError,
        UnreadOptionError as UnreadOptionError,
        UnreadOptionWarning as UnreadOptionWarning,
        UnsupportedImageError as UnsupportedImageError,
        UntrustedOptionError as UntrustedOptionError,
        UntrustedOptionWarning as UntrustedOptionWarning,
    )
    from optctx.hosts.llvmlite.compiling import (
        emit_assembly as emit_assembly,
        emit_object as emit_object,
        run_passes as run_passes,
    )
    from optctx.image.loaded import loaded_image as loaded_image
    from optctx.links import LinkReport as LinkReport, check_link as check_link, stamp as stamp
    from optctx.reads.log import Log as Log, Read as Read, Unread as Unread
    from optctx.reads.recording import record as record
    from optctx.travelling.attaching import attach as attach, detach as detach
    from optctx.travelling.bindings import unbind as unbind
    from optctx.values.registry import Option as Option, registry as registry

    # isort: on

    __version__: str

_WHERE = {
    "optctx.cache.cache": ("CompileCache",),
    "optctx.context.context": ("OptionContext",),
    "optctx.context.lookups": ("bound", "contained", "current", "lookup", "tool"),
    "optctx.context.wrap": ("propagating", "wrap"),
    "optctx.drifting.drift": ("Drift", "Drifts", "drift"),
    "optctx.drifting.watch": ("DriftEvent", "Watcher", "watch"),
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
    "optctx.reads.log": ("Log", "Read", "Unread"),
    "optctx.reads.recording": ("record",),
    "optctx.travelling.attaching": ("attach", "detach"),
    "optctx.travelling.bindings": ("unbind",),
    "optctx.values.registry": ("Option", "registry"),
}


def get_include() -> str:
    """Return the folder for a C++ compiler's -I, which has `optctx/optctx.hpp`."""
    import os

    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


if not TYPE_CHECKING:  # where every other name stays an error
    __all__ = sorted({"get_include"}.union(*_WHERE.values()))
    _imported, _names = later(__name__, _WHERE)

    def __getattr__(name: str) -> object:
        """A name or module that is imported on first use, or `__version__`, from the installed metadata."""
        if name == "__version__":
            from importlib.metadata import version

            return version(__name__)
        import_at_once()
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
