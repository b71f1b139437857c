"""Textual pass pipelines on llvmlite's modules, several threads at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optctx import _native
from optctx.context.enclosing import forget_problems, raise_problems
from optctx.errors import PassPipelineError, shown
from optctx.image.handles import module_address, pipeline_text, target_machine_address, tuning_address
from optctx.passes.locks import llvmlite_lock, raise_errors
from optctx.passes.native_api import native_api
from optctx.passes.pipelines import pipeline_hint

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, PipelineTuningOptions, TargetMachine

__all__ = ["instruction_count", "run_passes"]


def run_passes(
    module: ModuleRef,
    pipeline: str,
    *,
    target_machine: TargetMachine | None = None,
    tuning: PipelineTuningOptions | None = None,
) -> None:
    """Run a pipeline in LLVM's text form ("default<O3>", "function(sroa,instcombine)") on a module, in place.

    The passes see this thread's option values. The GIL is released and llvmlite's process-wide lock is not
    taken, so threads run in parallel as long as each has its own `llvmlite.binding.create_context()` and
    target machine; those that share one wait for one another. Modules in LLVM's global context, llvmlite's
    default, all wait for one another and for every other use of llvmlite. While it runs, no other thread
    may use the module's context through llvmlite, nor close what is in use.

    `target_machine` tells the passes about costs and registers; without one they know no target. `tuning`
    replaces the tuning options that would be made, from this thread's option values, for the call.

    Raises PassPipelineError with LLVM's words if the pipeline does not parse (the module is unchanged
    then), TypeError for anything that is not llvmlite's object, OptctxError for a closed one or for
    an error that a pass reports, UnsupportedImageError if the library lacks what is needed.
    """
    module_at = module_address(module)
    machine_at = 0 if target_machine is None else target_machine_address(target_machine)
    tuning_at = 0 if tuning is None else tuning_address(tuning)
    text = pipeline_text(pipeline)
    api = native_api()
    context = api.module_context(module_at)
    forget_problems()
    error, errors = _native.run_passes(
        api.native, context, llvmlite_lock(api, context), module_at, machine_at, tuning_at, text
    )
    if error is not None:
        said = error.decode(errors="replace")
        raise PassPipelineError(
            f"cannot parse the pass pipeline {shown(pipeline)}: {said}; {pipeline_hint(pipeline, said)}"
        )
    raise_errors(errors)
    raise_problems()


def instruction_count(module: ModuleRef) -> int:
    """How many IR instructions a module holds, over all its functions (debug records not counted).

    Raises as `run_passes` does. No other thread may change the module meanwhile.
    """
    return int(native_api().instruction_count(module_address(module)))
