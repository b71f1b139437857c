"""Option values that travel with work: to other threads, to executors, to other processes."""

from optctx.tasks.executor import propagating
from optctx.tasks.wrap import wrap

__all__ = ["propagating", "wrap"]
