"""Copies of llvmlite's library, each an LLVM with globals of its own, called through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from ctypes import POINTER, byref, c_bool, c_char_p, c_size_t, c_void_p
from typing import Any

from optctx.errors import OptctxError, PassPipelineError, clipped, shown
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts.fact import Fact
from optctx.image.facts.mangled_names import (
    COMPILING,
    INSTRUCTION_COUNT,
    PARSE_OPTIONS,
    PARSE_PARAMETERS,
    PARSE_PIPELINE,
)
from tests.support.bare_llvm import BareLlvm

Target = Iterable[Any]  # the values of Job.target, the triple first

_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "SetTarget": (None, (c_void_p, c_char_p)),
    "GetTarget": (None, (c_void_p, POINTER(c_char_p))),
    "SetDataLayout": (None, (c_void_p, c_char_p)),
    "CreateTargetMachineData": (c_void_p, (c_void_p,)),
    "CopyStringRepOfTargetData": (None, (c_void_p, POINTER(c_void_p))),
    "DisposeTargetData": (None, (c_void_p,)),
    "CreateNewModulePassManager": (c_void_p, ()),
}
_SAMPLE = "LLVMPY_ContextCreate"


class LibraryCopy(BareLlvm):
    """One copy, loaded under a name of its own, with local symbols. Its options are those given here.

    Any number of threads can compile at once: each compilation has an LLVMContext and a target machine of its
    own. Raises OSError if there is no room for the copy. LLVM's parser ends the process for an option that it
    does not know.
    """

    def __init__(self, options: Sequence[str]) -> None:
        self._image = llvmlite_image()
        # The file is gone when it is loaded; its pages live with the mapping.
        with tempfile.TemporaryDirectory(prefix="optctx-copy-") as folder:
            super().__init__(shutil.copyfile(self._image.path, os.path.join(folder, "libllvm.so")))
        self._functions = {name: getattr(self.library, f"LLVMPY_{name}") for name in _PROTOTYPES}
        for name, (result, arguments) in _PROTOTYPES.items():
            self._functions[name].restype, self._functions[name].argtypes = result, arguments
        # As far apart as the same function is in both.
        original, copied = (
            ctypes.cast(getattr(library, _SAMPLE), c_void_p).value or 0
            for library in (ctypes.CDLL(self._image.path), self.library)
        )
        self._apart = copied - original
        self._set(options)

    def close(self) -> None:
        """Unload the copy. No compilation may be under way."""
        close = ctypes.CDLL(None).dlclose
        close.argtypes = (c_void_p,)
        close(self.library._handle)

    def compile_for(
        self, ir: str | bytes, passes: str, target: Callable[[str], Target], emit: str
    ) -> tuple[str | None, bytes, int]:
        """(IR after the passes, code, number of IR instructions). `emit`, `passes`: as `Job` has them.

        `target` is asked for what to compile for; it gets the module's own triple. Raises OptctxError.
        """
        own = c_char_p()
        try:
            with self.module(ir) as (_, module):
                self._functions["GetTarget"](module, byref(own))  # the module's own storage
                triple, *parts = target((own.value or b"").decode(errors="replace"))
                with self.machine(triple, *parts) as machine:
                    self._lay_out(module, triple, machine)
                    self._run_passes(module, machine, passes)
                    count = self._hidden(INSTRUCTION_COUNT, ctypes.c_uint, c_void_p)(module)
                    text = self.text(module) if emit in ("ir", "both") else None
                    code = b"" if emit in ("ir", "none") else self.emit(machine, module, emit != "assembly")
                    return text, code, count
        except RuntimeError as error:  # of LLVM
            raise OptctxError(clipped(str(error))) from None

    def _set(self, options: Sequence[str]) -> None:
        form = self._image.findings.need(PARSE_OPTIONS).form
        words = [b"optctx", *(option.encode() for option in options)]
        argv = (c_char_p * len(words))(*words)
        given = {"argc": len(words), "argv": argv}
        parse = self._hidden(PARSE_OPTIONS, c_bool, *(PARSE_PARAMETERS[name][0] for name in form))
        parse(*(given.get(name, PARSE_PARAMETERS[name][1]) for name in form))

    def _lay_out(self, module: int, triple: str, machine: int) -> None:
        """Have the module be for a machine."""
        self._functions["SetTarget"](module, triple.encode())
        data = self._functions["CreateTargetMachineData"](machine)
        layout = self.text(data, "CopyStringRepOfTargetData")
        self._functions["DisposeTargetData"](data)
        self._functions["SetDataLayout"](module, layout.encode())

    def _run_passes(self, module: int, machine: int, passes: str) -> None:
        library = self.library
        with ExitStack() as held:
            tuning = library.LLVMPY_CreatePipelineTuningOptions()
            held.callback(library.LLVMPY_DisposePipelineTuningOptions, tuning)
            builder = library.LLVMPY_CreatePassBuilder(machine, tuning)
            held.callback(library.LLVMPY_DisposePassBuilder, builder)
            manager = self._functions["CreateNewModulePassManager"]()
            held.callback(library.LLVMPY_DisposeNewModulePassManger, manager)
            # An llvm::Error is returned through a hidden first argument: a pointer, null for success. Its
            # lowest bit says that it was not looked at, in libraries with assertions.
            error, text = c_void_p(), passes.encode()
            self._hidden(PARSE_PIPELINE, None, c_void_p, c_void_p, c_void_p, c_char_p, c_size_t)(
                byref(error), builder, manager, text, len(text)
            )
            if found := (error.value or 0) & ~1:
                raise PassPipelineError(
                    f"cannot parse the pass pipeline {shown(passes)}: {clipped(self._said(found))}"
                )
            library.LLVMPY_RunNewModulePassManager(manager, module, builder)

    def _said(self, error: int) -> str:
        message = self._hidden(COMPILING["error_message"], c_void_p, c_void_p)(error)
        said = ctypes.string_at(message).decode(errors="replace")
        self._hidden(COMPILING["dispose_error_message"], None, c_void_p)(message)
        return said

    def _hidden(self, fact: Fact[Any], result: Any, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)(self._image.findings.need(fact).address + self._apart)
