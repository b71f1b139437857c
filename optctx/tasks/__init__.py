"""Carries option values to where work runs: other threads, executors, other processes."""

from optctx.tasks.wrap import propagating, wrap

__all__ = ["propagating", "wrap"]
