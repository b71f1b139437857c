"""Carries bindings into llvmlite's LLJIT, and keeps other values out of its target machine.

`JITLibraryBuilder.add_ir` takes the text of a module, and `link` parses it into an LLVMContext of its own.
That LLVMContext gets the binding of the one that the module was in.

`create_lljit_compiler` makes a target machine with a copy of the TargetOptions of the one that it is given.
LLVM has written values of options to them while it made that one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from optctx import _native
from optctx._native import Subject
from optctx.engine.attach import attach, made
from optctx.errors import UnsupportedImageError
from optctx.hosts.llvmlite.ffi_calls import address_of, binding, watch, wrap_method
from optctx.hosts.llvmlite.objects import module_address
from optctx.image.facts.fact import named
from optctx.image.facts.interceptions import Interception, Work

# std::make_unique<LLVMContext>(): only LLVMPY_LLJIT_Link calls it, for each text that it parses.
INTERCEPTIONS: Final = (
    Interception(
        named("the constructor of llvm::LLVMContext", "_ZN4llvm11LLVMContextC1Ev"),
        Work(Subject.llvm_context_that_begins),
        caller="_ZSt11make_uniqueIN4llvm11LLVMContextEJEE",
    ),
)
_PARSED = (0, 1)  # kinds of entries with an LLVMContext each: IR, and what llvmlite calls native assembly
_BOUND = "_optctx_bindings"  # attribute of a builder: index of the entry -> binding


def _entries(builder: Any) -> list[tuple[int, bytes]]:
    return builder._JITLibraryBuilder__entries  # type: ignore[no-any-return]


def _binding(module: object) -> _native.Binding | None:
    engine = made()
    if engine is None or not _native.bound_count():
        return None
    if not isinstance(module, binding().ModuleRef) or module.closed:
        return None
    found = _native.binding_of_module(engine.index, module_address(module))
    if found is not None and not engine.follows_lljit:
        raise UnsupportedImageError(
            "cannot add a module of a bound LLVMContext to a library of LLJIT: where this llvmlite makes "
            "LLVMContexts for LLJIT was not found; add str(module), and link inside a scope"
        )
    return found


def _add_ir(original: Callable[..., Any], self: Any, llvmir: Any) -> Any:
    found = _binding(llvmir)
    result = original(self, llvmir)
    if found is not None:
        self.__dict__.setdefault(_BOUND, {})[len(_entries(self)) - 1] = found
    return result


def _link(original: Callable[..., Any], self: Any, lljit: Any, library_name: Any) -> Any:
    bindings = self.__dict__.get(_BOUND, {})
    if bindings:
        attach()  # another thread may have detached
    engine = made()
    if engine is None:  # attaching failed
        return original(self, lljit, library_name)
    expected = [bindings.get(i) for i, (kind, _) in enumerate(_entries(self)) if kind in _PARSED]
    return _native.expecting_llvm_contexts(engine.index, expected, original, self, lljit, library_name)


def _create(call: Any, arguments: tuple[Any, ...]) -> Any:
    machine = address_of(arguments[0])
    return _native.copying_machine(machine, call, *arguments) if machine else call(*arguments)


def arm() -> None:
    """Wrap each method once, even if an exception interrupted an earlier call."""
    watch("LLVMPY_CreateLLJITCompiler", _create)
    wrap_method(binding().JITLibraryBuilder, "add_ir", _add_ir)
    wrap_method(binding().JITLibraryBuilder, "link", _link)
