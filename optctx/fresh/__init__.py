"""Compiles a job in a fresh process, with options set process-wide."""

from optctx.fresh.compiling import compile_job
from optctx.fresh.job import Emit, Job, Result, initialise_targets
from optctx.fresh.process import FreshProcess

__all__ = ["Emit", "FreshProcess", "Job", "Result", "compile_job", "initialise_targets"]
