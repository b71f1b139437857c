"""Compiles modules under many combinations of option values. A crash or a hang of LLVM is a trial."""

from optctx.lab.sweep.plan import Limits
from optctx.lab.sweep.sweep import sweep

__all__ = ["Limits", "sweep"]
