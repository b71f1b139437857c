"""Textual pass pipelines, objects and assembly from llvmlite's modules, several threads at once.

llvmlite's `ffi.lib` takes one process-wide lock around every call, so no call here goes through it. A
separate `ctypes.CDLL` of the same file, which is already loaded, gives separate function objects. ctypes
releases the GIL around each call. Functions that the library does not export are called at their address in
its symbol table.

Only one thread at a time may use an LLVMContext and what is in it, or a TargetMachine. Each of them has a
reentrant lock, found by its address (native/os/keyed_locks.hpp). Modules in separate LLVMContexts, with
separate target machines, never wait for each other.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from ctypes import c_uint, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from optctx import _native
from optctx._native import Llvm
from optctx.errors import OptctxError, PassPipelineError, UnsupportedImageError, clipped, shown
from optctx.hosts.llvmlite.ffi_calls import llvmlite_lock
from optctx.hosts.llvmlite.llvmlite_host import llvmlite_image
from optctx.hosts.llvmlite.objects import module_address, target_machine_address
from optctx.hosts.llvmlite.tuning_options import setters_of
from optctx.image.facts.fact import Fact
from optctx.image.facts.mangled_names import COMPILING, INSTRUCTION_COUNT, MODULE_CONTEXT
from optctx.image.loaded import Image
from optctx.pipelines import pipeline_text
from optctx.tasks.problems import forget_problems, raise_problems
from optctx.values.foreign import pass_names

if TYPE_CHECKING:
    from llvmlite.binding import ModuleRef, PipelineTuningOptions, TargetMachine

# What native/python/compile_calls.hpp calls them, and what the library does, which exports them.
_OWN = {
    "create_tuning": "LLVMPY_CreatePipelineTuningOptions",
    "dispose_tuning": "LLVMPY_DisposePipelineTuningOptions",
    "create_pass_builder": "LLVMPY_CreatePassBuilder",
    "dispose_pass_builder": "LLVMPY_DisposePassBuilder",
    "create_pass_manager": "LLVMPY_CreateNewModulePassManager",
    "run_pass_manager": "LLVMPY_RunNewModulePassManager",
    "dispose_pass_manager": "LLVMPY_DisposeNewModulePassManger",  # the library's own spelling
    "verifier_words": "LLVMPY_VerifyModule",
    "emit_to_memory": "LLVMPY_TargetMachineEmitToMemory",
    "buffer_start": "LLVMPY_GetBufferStart",
    "buffer_size": "LLVMPY_GetBufferSize",
    "dispose_buffer": "LLVMPY_DisposeMemoryBuffer",
    "dispose_string": "LLVMPY_DisposeString",
}


class NativeApi(NamedTuple):
    """Typed functions of a loaded library. Pointers are plain integers (`c_void_p`). `image` is its index."""

    image: int
    native: Llvm
    global_context: Callable[[], int]
    module_context: Callable[[int], int]
    instruction_count: Callable[[int], int]


@cache
def native_api() -> NativeApi:
    """Return the functions of llvmlite's own library, looked up once in a process. Changes nothing else.

    Raises UnsupportedImageError if llvmlite's library is missing or lacks a function.
    """
    image = llvmlite_image()
    library = ctypes.CDLL(image.path)

    def exported(name: str) -> int:
        return _needed(image, name, ctypes.cast(getattr(library, name, 0), c_void_p).value)

    def hidden(fact: Fact[None]) -> int:
        found = image.findings.find(fact)
        return _needed(image, fact.what, None if found is None else found.address)

    own = {name: exported(symbol) for name, symbol in _OWN.items()}
    return NativeApi(
        image.index,
        Llvm(image.index, {**own, **{name: hidden(fact) for name, fact in COMPILING.items()}}),
        ctypes.CFUNCTYPE(c_void_p)(exported("LLVMPY_GetGlobalContext")),
        ctypes.CFUNCTYPE(c_void_p, c_void_p)(hidden(MODULE_CONTEXT)),
        ctypes.CFUNCTYPE(c_uint, c_void_p)(hidden(INSTRUCTION_COUNT)),
    )


def _needed(image: Image, name: str, address: int | None) -> int:
    """Return the address of a function. Raises UnsupportedImageError if there is none."""
    if not address:
        raise UnsupportedImageError(
            f"compiling needs the function {name}, which {image.path} does not have; "
            "install an llvmlite release that optctx supports, with its symbol table"
        )
    return address


def _alone(module_at: int) -> tuple[Llvm, int, Any]:
    """Return LLVM's functions, the module's LLVMContext, and what that needs beside its own lock: llvmlite's
    for LLVM's global LLVMContext, which all its users share; else None.

    Do not compile in the global LLVMContext from a callback that llvmlite runs under its lock.
    """
    api = native_api()
    context = api.module_context(module_at)
    return api.native, context, llvmlite_lock() if context == api.global_context() else None


def _raise_errors(errors: list[bytes]) -> None:
    """Raise OptctxError with the errors that LLVM reported for the module, if any."""
    if errors:
        words = (" ".join(each.decode(errors="replace").split()) for each in errors)
        raise OptctxError("LLVM refuses the module: " + "; ".join(words))


_LEVEL = re.compile(r"-?(?:default<)?-?(O[0-3sz])>?")
_UNKNOWN = re.compile(r"unknown (?:\w+ )*pass (?:name )?'(?P<name>[^']*)'")
_SYNTAX = "write it as for `opt -passes`, such as 'default<O3>' or 'function(sroa,instcombine)'"


def _pipeline_hint(said: str) -> str:
    """Say what to write instead, at the end of a message. `said`: LLVM's words."""
    found = _UNKNOWN.search(said)
    name = found["name"].lstrip("-") if found else ""
    if level := _LEVEL.fullmatch(name):
        return f"did you mean 'default<{level[1]}>'?"
    if kind := pass_names(llvmlite_image()).get(name.partition("<")[0]):
        # LLVM does not know it inside a pass manager of another kind.
        return f"{name!r} is a {kind} pass: write it at the top level, or inside {kind}(...)"
    return _SYNTAX


def refusal(words: str) -> str:
    """Return the error for a broken module. `words`: LLVM's verifier's."""
    said = clipped(" ".join(words.split()))
    return f"cannot compile the module: LLVM's verifier refuses it: {said}; correct what generated it"


def verifier_words(module_at: int) -> str:
    """Return what LLVM's verifier says of a broken module; nothing of another one."""
    return _native.verify(*_alone(module_at), module_at).decode(errors="replace")


def _check_sound(module_at: int) -> None:
    """Raise OptctxError for a broken module: LLVM's passes may never end on it, or end the process."""
    if words := verifier_words(module_at):
        raise OptctxError(refusal(words))


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
    During the call, no other thread may use the module's LLVMContext or the target machine through llvmlite,
    nor close an object in use.

    Args:
        module: Changed in place.
        pipeline: As for `opt -passes`, such as "function(sroa,instcombine)".
        target_machine: Tells the passes about costs and registers. Without one they assume no target.
        tuning: Its settings replace those that the call would make from this thread's option values. What the
            program has not set follows the values of the call.

    Raises:
        PassPipelineError: The pipeline does not parse. The module is unchanged.
        TypeError: An argument is not an object of llvmlite's.
        OptctxError: An object is closed, LLVM's verifier refuses the module, or a pass reports an error.
        UnsupportedImageError: The library lacks a function that this needs.
    """
    module_at = module_address(module)
    machine_at = 0 if target_machine is None else target_machine_address(target_machine)
    setters = [] if tuning is None else setters_of(tuning)
    text = pipeline_text(pipeline)
    _check_sound(module_at)
    forget_problems()
    ran = _native.run_passes(*_alone(module_at), module_at, machine_at, setters, text)
    raise_problems()
    assert ran is not None  # else the reason was left
    error, _, errors = ran
    if error is not None:
        said = clipped(error.decode(errors="replace"))
        raise PassPipelineError(
            f"cannot parse the pass pipeline {shown(pipeline)}: {said}; {_pipeline_hint(said)}"
        )
    _raise_errors(errors)


def instruction_count(module: ModuleRef) -> int:
    """Count the IR instructions of a module, over all its functions, without debug records.

    Raises as `run_passes` does. No other thread may change the module during the call.
    """
    return int(native_api().instruction_count(module_address(module)))


def emit_object(module: ModuleRef, target_machine: TargetMachine) -> bytes:
    """Emit a module as an object file, in the target's own format.

    Sees this thread's option values, and waits for other threads as `run_passes` does. LLVM's code generator
    lowers the module in place, so emit last. Initialize the target's printer first:
    `llvmlite.binding.initialize_native_asmprinter()` or `initialize_all_asmprinters()`.

    Raises:
        OptctxError: LLVM's verifier refuses the module, the target cannot emit, the code has an error (in
            inline assembly, for instance), or an object is closed. LLVM's fatal errors still terminate the
            process.
        TypeError: An argument is not an object of llvmlite's.
        UnsupportedImageError: The library lacks a function that this needs.
    """
    return emit(module, target_machine, as_object=True, check=True)


def emit_assembly(module: ModuleRef, target_machine: TargetMachine) -> str:
    """Emit a module as assembly text. Otherwise the same as `emit_object`."""
    return emit(module, target_machine, as_object=False, check=True).decode(errors="backslashreplace")


def emit(module: ModuleRef, target_machine: TargetMachine, *, as_object: bool, check: bool = False) -> bytes:
    """Emit a module. `check`: LLVM's verifier sees it; it need not if `run_passes` has just changed it."""
    module_at = module_address(module)
    machine_at = target_machine_address(target_machine)
    if check:
        _check_sound(module_at)
    forget_problems()
    emitted = _native.emit(*_alone(module_at), module_at, machine_at, as_object)
    raise_problems()
    assert emitted is not None  # else the reason was left
    failure, code, errors = emitted
    _raise_errors(errors)
    if failure is not None:
        what = "an object" if as_object else "assembly"
        why = failure.decode(errors="replace").strip() or "no reason given"
        raise OptctxError(
            f"LLVM cannot emit {what} for {target_machine.triple}: {why}; "
            "call llvmlite.binding.initialize_all_asmprinters() first, or choose a target that emits it"
        )
    return code
