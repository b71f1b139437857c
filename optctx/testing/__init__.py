"""Property tests under drawn options: strategies for Hypothesis, and tests that survive LLVM's crashes.

Needs Hypothesis: `pip install optctx[testing]`. pytest finds its plugin by itself (`plugin_entry`).
"""

from typing import TYPE_CHECKING

from optctx.importing import later

if TYPE_CHECKING:
    from optctx.testing.compiler import Compiler, CrashError, HangError
    from optctx.testing.forked import crash_proof
    from optctx.testing.module import modules
    from optctx.testing.strategies import contexts, jobs, options, overrides, values

__all__ = [
    "Compiler",
    "CrashError",
    "HangError",
    "contexts",
    "crash_proof",
    "jobs",
    "modules",
    "options",
    "overrides",
    "values",
]

MARK = "llvm_options"  # of pytest's tests, and the name of the fixture and of the setting

if not TYPE_CHECKING:  # on demand, because the plugin is in this package and must not import Hypothesis
    __getattr__, __dir__ = later(
        __name__,
        {
            "optctx.testing.compiler": ("Compiler", "CrashError", "HangError"),
            "optctx.testing.forked": ("crash_proof",),
            "optctx.testing.module": ("modules",),
            "optctx.testing.strategies": ("contexts", "jobs", "options", "overrides", "values"),
        },
    )
