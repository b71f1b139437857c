"""Textual pass pipelines on llvmlite's modules, several threads at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optctx import _native
from optctx.context.enclosing import forget_problems, raise_problems
from optctx.errors import PassPipelineError, clipped, shown
from optctx.image.handles import module_address, pipeline_text, target_machine_address
from optctx.image.tuning import setter_addresses, settings_of
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
    """Run a pass pipeline, such as "default<O3>", on a module, in place.

    The passes see this thread's option values. The call releases the GIL and does not take llvmlite's
    process-wide lock. Threads run in parallel if each has an LLVMContext
    (`llvmlite.binding.create_context()`) and a target machine of its own; threads that share one wait for one
    another. Modules in LLVM's global context, llvmlite's default, wait for every other use of llvmlite.
    During the call, no other thread may use the module's LLVMContext through llvmlite, nor close an object in
    use.

    Args:
        module: Changed in place.
        pipeline: As for `opt -passes`, such as "function(sroa,instcombine)".
        target_machine: Tells the passes about costs and registers. Without one they assume no target.
        tuning: Its settings replace those that the call would make from this thread's option values. What the
            program has not set follows the values of the call.

    Raises:
        PassPipelineError: The pipeline does not parse. The module is unchanged.
        TypeError: An argument is not an object of llvmlite's.
        OptctxError: An object is closed, or a pass reports an error.
        UnsupportedImageError: The library lacks a function that this needs.
    """
    module_at = module_address(module)
    machine_at = 0 if target_machine is None else target_machine_address(target_machine)
    settings = () if tuning is None else settings_of(tuning)
    text = pipeline_text(pipeline)
    api = native_api()
    context = api.module_context(module_at)
    forget_problems()
    error, errors = _native.run_passes(
        api.native,
        context,
        llvmlite_lock(api, context),
        module_at,
        machine_at,
        setter_addresses(settings),
        text,
    )
    if error is not None:
        said = clipped(error.decode(errors="replace"))
        raise PassPipelineError(
            f"cannot parse the pass pipeline {shown(pipeline)}: {said}; {pipeline_hint(pipeline, said)}"
        )
    raise_errors(errors)
    raise_problems()


def instruction_count(module: ModuleRef) -> int:
    """Count the IR instructions of a module, over all its functions, without debug records.

    Raises as `run_passes` does. No other thread may change the module during the call.
    """
    return int(native_api().instruction_count(module_address(module)))
