"""llvmlite's objects: their addresses. A wrong argument ends here, in a clear error, before LLVM sees it."""

from __future__ import annotations

import ctypes
from typing import Any

from optctx.errors import OptctxError
from optctx.hosts.llvmlite.ffi_calls import binding


def module_address(module: object) -> int:
    """Return the address of the llvm::Module of an open `llvmlite.binding.ModuleRef`.

    Raises TypeError for anything else, and OptctxError for a closed one, and for one whose LLVMContext is
    closed.
    """
    if isinstance(module, str):
        raise TypeError(
            "expected a module (llvmlite.binding.ModuleRef), found IR as text (str); "
            "parse it first: llvmlite.binding.parse_assembly(text, llvmlite.binding.create_context())"
        )
    address = _address(module, binding().ModuleRef, "module")
    context = getattr(module, "_context", None)
    if getattr(context, "closed", False) and not isinstance(context, binding().context.GlobalContextRef):
        raise OptctxError(
            "the LLVMContext of the module is closed, and LLVM has deleted the module with it; close an "
            "LLVMContext after its modules"
        )
    return address


def llvm_context_address(llvm_context: object) -> int:
    """Return the address of an open LLVMContext of llvmlite's. Raises as `module_address` does."""
    return _address(llvm_context, binding().context.ContextRef, "LLVMContext")


def target_machine_address(target_machine: object) -> int:
    """Return the address of an open llvmlite target machine. Raises as `module_address` does."""
    return _address(target_machine, binding().TargetMachine, "target machine")


def tuning_address(tuning: object) -> int:
    """Return the address of open llvmlite PipelineTuningOptions. Raises as `module_address` does."""
    return _address(tuning, binding().PipelineTuningOptions, "tuning")


def _address(value: Any, expected: type[Any], what: str) -> int:
    if not isinstance(value, expected):
        found = type(value)
        name = (
            found.__name__ if found.__name__ != expected.__name__ else f"{found.__module__}.{found.__name__}"
        )
        raise TypeError(f"expected a {what} (llvmlite.binding.{expected.__name__}), found {name}")
    if value.closed:
        raise OptctxError(f"the {what} is closed; make a new llvmlite.binding.{expected.__name__}")
    return ctypes.addressof(value._ptr.contents)  # `ctypes.cast` would leave a reference cycle
