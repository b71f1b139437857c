"""Compiles a job in a fresh process, with options set process-wide."""

from optctx.fresh.compiling import check_target, compile_job
from optctx.fresh.job import Emit, Job, Result, initialise_targets
from optctx.fresh.process import FreshProcess
from optctx.fresh.triples import target_of

__all__ = [
    "Emit",
    "FreshProcess",
    "Job",
    "Result",
    "check_target",
    "compile_job",
    "initialise_targets",
    "target_of",
]
