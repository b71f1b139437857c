"""From llvmlite's objects to addresses: a wrong argument ends here, in a clear error, before LLVM sees it."""

from __future__ import annotations

import ctypes
from typing import Any

from optctx.errors import OptctxError, PassPipelineError, shown
from optctx.hosts.llvmlite.lifetimes import order_module

__all__ = [
    "llvm_context_address",
    "module_address",
    "pipeline_text",
    "target_machine_address",
    "tuning_address",
]


def module_address(module: object) -> int:
    """Return the address of the llvm::Module of an open `llvmlite.binding.ModuleRef`.

    Raises TypeError for anything else and OptctxError for a closed one.
    """
    from llvmlite import binding  # here and below: importing optctx works without llvmlite

    if isinstance(module, str):
        raise TypeError(
            "expected a module (llvmlite.binding.ModuleRef), found IR as text (str); "
            "parse it first: llvmlite.binding.parse_assembly(text, llvmlite.binding.create_context())"
        )
    address = _address(module, binding.ModuleRef, "module")
    order_module(module)
    return address


def llvm_context_address(llvm_context: object) -> int:
    """Return the address of an open LLVMContext of llvmlite's. Raises as `module_address` does."""
    from llvmlite.binding.context import ContextRef

    return _address(llvm_context, ContextRef, "LLVMContext")


def target_machine_address(target_machine: object) -> int:
    """Return the address of an open llvmlite target machine. Raises as `module_address` does."""
    from llvmlite import binding

    return _address(target_machine, binding.TargetMachine, "target machine")


def tuning_address(tuning: object) -> int:
    """Return the address of open llvmlite PipelineTuningOptions. Raises as `module_address` does."""
    from llvmlite import binding

    return _address(tuning, binding.PipelineTuningOptions, "tuning")


def pipeline_text(pipeline: object) -> bytes:
    """Encode the text of a pipeline for LLVM. Raises TypeError or PassPipelineError."""
    if not isinstance(pipeline, str):
        raise TypeError(
            f"expected a pass pipeline as text, such as 'default<O3>', found {type(pipeline).__name__}"
        )
    if "\0" in pipeline:
        raise PassPipelineError(
            f"a pass pipeline cannot hold a NUL character, found one in {shown(pipeline)}"
        )
    try:
        return pipeline.encode()
    except UnicodeEncodeError as error:
        raise PassPipelineError(f"a pass pipeline must be encodable as UTF-8: {error}") from None


def _address(value: Any, expected: type[Any], what: str) -> int:
    if not isinstance(value, expected):
        found = type(value)
        name = (
            found.__name__ if found.__name__ != expected.__name__ else f"{found.__module__}.{found.__name__}"
        )
        raise TypeError(f"expected a {what} (llvmlite.binding.{expected.__name__}), found {name}")
    if value.closed:
        raise OptctxError(f"the {what} is closed; make a new llvmlite.binding.{expected.__name__}")
    if not value._ptr:
        raise OptctxError(f"the {what} has no native object behind it")
    return ctypes.addressof(value._ptr.contents)  # `ctypes.cast` would leave a reference cycle
