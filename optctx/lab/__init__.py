"""The tools: experiments with option values, and what is known of an LLVM.

    from optctx.lab import Search, tune

Names are imported on first use: importing the package alone loads none of the tools.
"""

from optctx.importing import later

__all__ = ["Limits", "Search", "parse_space", "tune"]

__getattr__, __dir__ = later(
    __name__,
    {
        "optctx.lab.space": ("parse_space",),
        "optctx.lab.tuning": ("Limits", "Search", "tune"),
    },
)
