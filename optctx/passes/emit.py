"""Objects and assembly from llvmlite's modules, several threads at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from optctx import _native
from optctx.context.enclosing import forget_problems, raise_problems
from optctx.errors import OptctxError
from optctx.image.handles import module_address, target_machine_address
from optctx.passes.locks import llvmlite_lock, raise_errors
from optctx.passes.native_api import native_api

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, TargetMachine

__all__ = ["emit_assembly", "emit_object"]


def emit_object(module: ModuleRef, target_machine: TargetMachine) -> bytes:
    """Emit a module as an object file, in the target's own format.

    Sees this thread's option values, and waits for other threads as `run_passes` does. LLVM's code generator
    lowers the module in place, so emit last. Initialize the target's printer first:
    `llvmlite.binding.initialize_native_asmprinter()` or `initialize_all_asmprinters()`.

    Raises:
        OptctxError: The target cannot emit, the code has an error (in inline assembly, for instance), or an
            object is closed. LLVM's fatal errors still terminate the process.
        TypeError: An argument is not an object of llvmlite's.
        UnsupportedImageError: The library lacks a function that this needs.
    """
    return _emit(module, target_machine, as_object=True)


def emit_assembly(module: ModuleRef, target_machine: TargetMachine) -> str:
    """Emit a module as assembly text. Otherwise the same as `emit_object`."""
    return _emit(module, target_machine, as_object=False).decode(errors="backslashreplace")


def _emit(module: ModuleRef, target_machine: TargetMachine, *, as_object: bool) -> bytes:
    module_at = module_address(module)
    machine_at = target_machine_address(target_machine)
    api = native_api()
    context = api.module_context(module_at)
    forget_problems()
    code, message, errors = _native.emit(
        api.native, context, llvmlite_lock(api, context), module_at, machine_at, as_object
    )
    raise_errors(errors)
    raise_problems(stacklevel=4)
    if code is None:
        what = "an object" if as_object else "assembly"
        why = message.decode(errors="replace").strip() or "no reason given"
        raise OptctxError(
            f"LLVM cannot emit {what} for {target_machine.triple}: {why}; "
            "call llvmlite.binding.initialize_all_asmprinters() first, or choose a target that emits it"
        )
    return code
