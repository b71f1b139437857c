"""Property tests under drawn options: strategies for Hypothesis, and a compiler that survives LLVM's crashes.

Needs Hypothesis: `pip install optctx[testing]`. The pytest plugin is `optctx_pytest`, which pytest finds by
itself.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optctx.testing.compiler import Compiler, CrashError, DiedError, HangError
    from optctx.testing.module import modules, modules_in
    from optctx.testing.option import options
    from optctx.testing.override import arguments, contexts, jobs, overrides
    from optctx.testing.reducing import smallest
    from optctx.testing.value import values

__all__ = [
    "Compiler",
    "CrashError",
    "DiedError",
    "HangError",
    "arguments",
    "contexts",
    "jobs",
    "modules",
    "modules_in",
    "options",
    "overrides",
    "smallest",
    "values",
]

# Imported on demand, because the plugin is in this package and must not import Hypothesis.
_LATER = {
    "optctx.testing.compiler": ("Compiler", "CrashError", "DiedError", "HangError"),
    "optctx.testing.module": ("modules", "modules_in"),
    "optctx.testing.option": ("options",),
    "optctx.testing.override": ("arguments", "contexts", "jobs", "overrides"),
    "optctx.testing.reducing": ("smallest",),
    "optctx.testing.value": ("values",),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A name of `__all__`, imported on first use."""
        from importlib import import_module

        for module, names in _LATER.items():
            if name in names:
                return globals().setdefault(name, getattr(import_module(module), name))
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
