"""What a fresh process with process-wide options gives for a compilation."""

from optctx.fresh.compiling import compile_job
from optctx.fresh.job import Emit, Job, Result, initialise_targets
from optctx.fresh.process import FreshProcess

__all__ = ["Emit", "FreshProcess", "Job", "Result", "compile_job", "initialise_targets"]
