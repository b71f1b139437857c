"""llvmlite's objects: their addresses, and the order in which they end.

A wrong argument ends here, in a clear error, before LLVM sees it.

Every LLVMContext outlives its modules, in whatever order Python drops llvmlite's objects. LLVM deletes the
modules of an LLVMContext together with it. If llvmlite disposes of a module later, the module is freed twice.
llvmlite's objects hold their parents, which orders reference counting. The garbage collector runs the
finalisers of a cycle in any order, and `close()` may be called in any order.

An LLVMContext and its modules share a `Lifetime`, an object that the collector does not track. The collector
runs all finalisers before it drops that object, and LLVM disposes of the LLVMContext then. See
design/freeing.md.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from typing import Any

from optctx._native import Lifetime
from optctx.errors import OptctxError, PassPipelineError, shown
from optctx.hosts.llvmlite.ffi_calls import address_of, binding, code_address, function
from optctx.wording import nesting

_MOST_NESTED = 64  # parentheses of a pipeline; LLVM takes up to 8 KiB of the stack for each


def module_address(module: object) -> int:
    """Return the address of the llvm::Module of an open `llvmlite.binding.ModuleRef`.

    Raises TypeError for anything else, and OptctxError for a closed one, and for one that LLVM has deleted
    with its LLVMContext.
    """
    if isinstance(module, str):
        raise TypeError(
            "expected a module (llvmlite.binding.ModuleRef), found IR as text (str); "
            "parse it first: llvmlite.binding.parse_assembly(text, llvmlite.binding.create_context())"
        )
    address = _address(module, binding().ModuleRef, "module")
    if not order_module(module):
        raise OptctxError(
            "the LLVMContext of the module was closed before optctx attached, and LLVM has deleted the "
            "module with it; close an LLVMContext after its modules"
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
    if (levels := nesting(pipeline)) > _MOST_NESTED:
        raise PassPipelineError(
            f"cannot parse the pass pipeline {shown(pipeline)}: it nests {levels:,} levels deep, which can "
            f"overflow the stack of LLVM's parser; nest at most {_MOST_NESTED} levels"
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
    return ctypes.addressof(value._ptr.contents)  # `ctypes.cast` would leave a reference cycle


_LIFETIME = "_optctx_lifetime"  # attribute of an open LLVMContext and of its modules
_WEAK = "_optctx_weak_lifetime"  # attribute of an LLVMContext: for modules that are cloned after it is closed


def order_freeing() -> None:
    """Order every module that llvmlite makes from now on, in the whole process; again does nothing."""
    wrap_method(binding().ModuleRef, "__init__", _module_begins)
    wrap_method(binding().ModuleRef, "_dispose", _module_ends)
    wrap_method(binding().ExecutionEngine, "_dispose", _engine_ends)
    wrap_method(binding().context.ContextRef, "_dispose", _context_ends)


def wrap_method(
    owner: type[Any], name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Put a wrapper in the place of a method of llvmlite's; again does nothing."""
    original = getattr(owner, name)
    if getattr(original, "__module__", None) != __name__:
        wrapper = functools.wraps(original)(wrap(original))
        wrapper.__module__ = __name__
        setattr(owner, name, wrapper)


def order_module(module: Any) -> bool:
    """Order one of llvmlite's modules, which may be older than `order_freeing`.

    Return False if LLVM has disposed of its LLVMContext, or it was given away, before anything was ordered.
    """
    return _order(module, module.__dict__.get("_context"))


def _order(module: Any, context: Any) -> bool:
    kinds = binding().context
    if (
        _LIFETIME not in module.__dict__
        and isinstance(context, kinds.ContextRef)
        and not isinstance(context, kinds.GlobalContextRef)  # which is never disposed of
    ):
        lifetime = _lifetime(context)
        if lifetime is None:
            return False
        module.__dict__[_LIFETIME] = lifetime
    return True


def order_arguments(arguments: tuple[object, ...]) -> None:
    """Order every module among the arguments of a call into llvmlite's library."""
    kinds = binding()
    for argument in arguments:
        if isinstance(argument, kinds.ModuleRef):
            order_module(argument)
        elif isinstance(argument, kinds.ExecutionEngine):
            for module in argument._modules:
                order_module(module)
        elif isinstance(argument, kinds.ValueRef) and argument.module is not None:
            order_module(argument.module)


def _lifetime(context: Any) -> Lifetime | None:
    """Find what an LLVMContext shares with its modules; None if LLVM has disposed of it."""
    if context.closed:
        weak = context.__dict__.get(_WEAK)
        return None if weak is None else weak()
    if _LIFETIME not in context.__dict__:
        made = Lifetime(address_of(context), code_address(function("LLVMPY_ContextDispose")))
        # If another thread is first, this one is dropped without effect: it was not closed.
        kept = context.__dict__.setdefault(_LIFETIME, made)
        context.__dict__[_WEAK] = weakref.ref(kept)
    found: Lifetime | None = context.__dict__.get(_LIFETIME)
    return found


def _module_begins(original: Callable[..., Any]) -> Callable[..., Any]:
    def begin(self: Any, module_ptr: Any, context: Any) -> None:
        _order(self, context)  # first: an exception may arrive as soon as llvmlite's part is done
        original(self, module_ptr, context)

    return begin


def _module_ends(original: Callable[..., Any]) -> Callable[..., Any]:
    def dispose(self: Any) -> None:
        try:
            original(self)
        finally:
            self.__dict__.pop(_LIFETIME, None)

    return dispose


def _engine_ends(original: Callable[..., Any]) -> Callable[..., Any]:
    def dispose(self: Any) -> None:
        modules = list(self._modules)  # llvmlite drops them before LLVM deletes them
        try:
            original(self)
        finally:
            modules.clear()

    return dispose


def _context_ends(original: Callable[..., Any]) -> Callable[..., Any]:
    def dispose(self: Any) -> None:
        lifetime = self.__dict__.pop(_LIFETIME, None)
        if lifetime is None:
            original(self)
        else:
            lifetime.close()

    return dispose
