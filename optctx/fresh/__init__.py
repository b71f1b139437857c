"""What a fresh process with process-wide options gives for a compilation."""

from optctx.fresh.job import Emit, Job, Result, compile_job, initialise_targets
from optctx.fresh.process import FreshProcess

__all__ = ["Emit", "FreshProcess", "Job", "Result", "compile_job", "initialise_targets"]
