"""Objects and assembly from llvmlite's modules, several threads at once."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from optctx.context.enclosing import raise_problems
from optctx.errors import OptctxError
from optctx.image.handles import module_address, target_machine_address
from optctx.passes.diagnostics import errors_raised
from optctx.passes.locks import compiling
from optctx.passes.native_api import NativeApi, native_api

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine

__all__ = ["emit_assembly", "emit_object"]


def emit_object(module: ModuleRef, target_machine: TargetMachine) -> bytes:
    """The module as an object file, in the target's own format.

    Sees this thread's option values and waits for other threads as `run_passes` does. LLVM's code generator
    changes the module on the way (lowering), so emit last. The target's printer has to be initialised:
    `llvmlite.binding.initialize_native_asmprinter()` or `initialize_all_asmprinters()`.

    Raises OptctxError with LLVM's words if the target cannot emit or the code has an error (inline
    assembly, for instance), or for a closed object; TypeError for anything that is not llvmlite's;
    UnsupportedImageError if the library lacks what is needed. What LLVM calls a fatal error still ends the
    process.
    """
    return _emit(module, target_machine, as_object=True)


def emit_assembly(module: ModuleRef, target_machine: TargetMachine) -> str:
    """The module as assembly text; everything else as `emit_object`."""
    return _emit(module, target_machine, as_object=False).decode(errors="backslashreplace")


def _emit(module: ModuleRef, target_machine: TargetMachine, *, as_object: bool) -> bytes:
    module_at = module_address(module)
    machine_at = target_machine_address(target_machine)
    api = native_api()
    context = api.module_context(module_at)
    message = ctypes.c_void_p()
    code = None
    with (
        compiling(context, machine_at, shared=context == api.global_context()),
        errors_raised(api, context),
    ):
        buffer = api.emit_to_memory(machine_at, module_at, int(as_object), ctypes.byref(message))
        if buffer:
            code = _take_code(api, buffer)
    raise_problems(stacklevel=4)
    if code is None:
        what = "an object" if as_object else "assembly"
        raise OptctxError(
            f"LLVM cannot emit {what} for {target_machine.triple}: {_take_message(api, message)}; "
            "call llvmlite.binding.initialize_all_asmprinters() first, or choose a target that emits it"
        )
    return code


def _take_code(api: NativeApi, buffer: int) -> bytes:
    try:
        return ctypes.string_at(api.buffer_start(buffer), api.buffer_size(buffer))
    finally:
        api.dispose_buffer(buffer)


def _take_message(api: NativeApi, message: ctypes.c_void_p) -> str:
    if not message.value:
        return "no reason given"
    try:
        return ctypes.string_at(message.value).decode(errors="replace").strip()
    finally:
        api.dispose_string(message)
