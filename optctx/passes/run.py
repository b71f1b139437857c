"""Textual pass pipelines on llvmlite's modules, several threads at once."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from optctx.context.enclosing import raise_problems
from optctx.errors import PassPipelineError
from optctx.image.handles import module_address, pipeline_text, target_machine_address, tuning_address
from optctx.passes.diagnostics import errors_raised
from optctx.passes.locks import compiling
from optctx.passes.native_api import NativeApi, native_api

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
    machine_at = None if target_machine is None else target_machine_address(target_machine)
    tuning_at = None if tuning is None else tuning_address(tuning)
    text = pipeline_text(pipeline)
    api = native_api()
    context = api.module_context(module_at)
    with (
        compiling(context, machine_at, shared=context == api.global_context()),
        _pass_builder(api, machine_at, tuning_at) as builder,
        _pass_manager(api) as manager,
        errors_raised(api, context),
    ):
        _parse(api, builder, manager, text)
        api.run_pass_manager(manager, module_at, builder)
    raise_problems()


def instruction_count(module: ModuleRef) -> int:
    """How many IR instructions a module holds, over all its functions (debug records not counted).

    Raises as `run_passes` does. No other thread may change the module meanwhile.
    """
    return int(native_api().instruction_count(module_address(module)))


@contextmanager
def _pass_builder(api: NativeApi, machine: int | None, tuning: int | None) -> Iterator[int]:
    own = None if tuning is not None else api.create_tuning()
    try:
        builder = api.create_pass_builder(machine, own if tuning is None else tuning)
        try:
            yield builder
        finally:
            api.dispose_pass_builder(builder)
    finally:
        if own is not None:
            api.dispose_tuning(own)


@contextmanager
def _pass_manager(api: NativeApi) -> Iterator[int]:
    manager = api.create_pass_manager()
    try:
        yield manager
    finally:
        api.dispose_pass_manager(manager)


def _parse(api: NativeApi, builder: int, manager: int, text: bytes) -> None:
    error = ctypes.c_void_p()
    api.parse_pipeline(ctypes.byref(error), builder, manager, text, len(text))
    # The low bit marks an error that nobody has looked at yet; success is that bit over a null pointer.
    payload = (error.value or 0) & ~1
    if payload:
        raise PassPipelineError(
            f"cannot parse the pass pipeline {text.decode()!r}: {_take_message(api, payload)}; pipelines are "
            "written as for `opt -passes`, such as 'default<O3>' or 'function(sroa,instcombine)'"
        )


def _take_message(api: NativeApi, error: int) -> str:
    message = api.error_message(error)  # consumes the error
    try:
        return ctypes.string_at(message).decode(errors="replace")
    finally:
        api.dispose_error_message(message)
