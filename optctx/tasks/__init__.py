"""Carries option values to where work runs: other threads, executors, other processes."""

from optctx.tasks.executor import propagating
from optctx.tasks.wrap import wrap

__all__ = ["propagating", "wrap"]
