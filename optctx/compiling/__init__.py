"""Compiles a job in this process, or in a fresh one with options set process-wide."""

from optctx.compiling.fresh import (
    FreshProcess,
    answered,
    check_readable,
    check_target,
    compile_job,
    llvm_pool,
)
from optctx.compiling.job import (
    CodeModel,
    Emit,
    Job,
    Reloc,
    Result,
    compile_unchecked,
    image_of,
    initialise_targets,
    why_passes_skip,
)
from optctx.image.loaded import Image

__all__ = [
    "CodeModel",
    "Emit",
    "FreshProcess",
    "Image",
    "Job",
    "Reloc",
    "Result",
    "answered",
    "check_readable",
    "check_target",
    "compile_job",
    "compile_unchecked",
    "image_of",
    "initialise_targets",
    "llvm_pool",
    "why_passes_skip",
]
