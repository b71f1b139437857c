"""Copies of llvmlite's library, each an LLVM with globals of its own, called through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_void_p
from typing import Any

from optctx.errors import OptctxError, PassPipelineError, UnsupportedImageError, clipped, shown
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts.fact import Fact
from optctx.image.facts.mangled_names import (
    COMPILING,
    INSTRUCTION_COUNT,
    PARSE_OPTIONS,
    PARSE_PARAMETERS,
    PARSE_PIPELINE,
)

__all__ = ["LibraryCopy", "TargetNames"]

TargetNames = tuple[str, str, str]  # triple, processor, features

_PROTOTYPES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "ContextCreate": (c_void_p, ()),
    "ContextDispose": (None, (c_void_p,)),
    "ParseAssembly": (c_void_p, (c_void_p, c_char_p, POINTER(c_char_p))),
    "ParseBitcode": (c_void_p, (c_void_p, c_char_p, c_size_t, POINTER(c_char_p))),
    "DisposeModule": (None, (c_void_p,)),
    "SetTarget": (None, (c_void_p, c_char_p)),
    "GetTarget": (None, (c_void_p, POINTER(c_char_p))),
    "SetDataLayout": (None, (c_void_p, c_char_p)),
    "CreateTargetMachineData": (c_void_p, (c_void_p,)),
    "CopyStringRepOfTargetData": (None, (c_void_p, POINTER(c_void_p))),
    "DisposeTargetData": (None, (c_void_p,)),
    "PrintModuleToString": (None, (c_void_p, POINTER(c_void_p))),
    "DisposeString": (None, (c_void_p,)),
    "GetTargetFromTriple": (c_void_p, (c_char_p, POINTER(c_char_p))),
    "CreateTargetMachine": (
        c_void_p,
        (c_void_p, c_char_p, c_char_p, c_char_p, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p),
    ),
    "DisposeTargetMachine": (None, (c_void_p,)),
    "CreatePipelineTuningOptions": (c_void_p, ()),
    "DisposePipelineTuningOptions": (None, (c_void_p,)),
    "CreatePassBuilder": (c_void_p, (c_void_p, c_void_p)),
    "DisposePassBuilder": (None, (c_void_p,)),
    "CreateNewModulePassManager": (c_void_p, ()),
    "RunNewModulePassManager": (None, (c_void_p, c_void_p, c_void_p)),
    "DisposeNewModulePassManger": (None, (c_void_p,)),  # the library's own spelling
    "TargetMachineEmitToMemory": (c_void_p, (c_void_p, c_void_p, c_int, POINTER(c_char_p))),
    "GetBufferStart": (c_void_p, (c_void_p,)),
    "GetBufferSize": (c_size_t, (c_void_p,)),
    "DisposeMemoryBuffer": (None, (c_void_p,)),
}
_SAMPLE = "LLVMPY_ContextCreate"
_INITIALISERS = ("AllTargetInfos", "AllTargets", "AllTargetMCs", "AllAsmPrinters", "NativeAsmParser")


class LibraryCopy:
    """One copy, loaded under a name of its own, with local symbols. Its options are those given here.

    Every call releases the GIL and takes no lock of llvmlite's. Any number of threads can compile at once:
    each compilation has an LLVMContext and a target machine of its own. Raises UnsupportedImageError if the
    library lacks a function, OSError if there is no room for the copy. LLVM's parser ends the process for an
    option that it does not know.
    """

    def __init__(self, options: Sequence[str]) -> None:
        self._image = llvmlite_image()
        self._library = _load_copy(self._image.path)
        self._functions = {}
        for name, (result, arguments) in _PROTOTYPES.items():
            self._functions[name] = self._exported(f"LLVMPY_{name}")
            self._functions[name].restype, self._functions[name].argtypes = result, arguments
        # As far apart as the same function is in both.
        original = ctypes.cast(getattr(ctypes.CDLL(self._image.path), _SAMPLE), c_void_p).value
        copied = ctypes.cast(getattr(self._library, _SAMPLE), c_void_p).value
        assert original is not None
        assert copied is not None
        self._apart = copied - original
        for each in _INITIALISERS:
            self._exported(f"LLVMPY_Initialize{each}")()
        self._set(options)

    def close(self) -> None:
        """Unload the copy. No compilation may be under way."""
        handle = self._library._handle
        self._functions.clear()
        close = ctypes.CDLL(None).dlclose
        close.argtypes = (c_void_p,)
        close(handle)

    def compile(
        self, ir: str | bytes, passes: str, target: Callable[[str], TargetNames], opt_level: int, emit: str
    ) -> tuple[str | None, bytes, int]:
        """(IR after the passes, code, number of IR instructions). `emit`, `passes`: as `Job` has them.

        `target` is asked for what to compile for; it gets the module's own triple. Raises OptctxError.
        """
        with ExitStack() as held:
            context = self._made(held, "ContextCreate", "ContextDispose")
            module = self._parse(held, context, ir)
            machine = self._machine(held, module, target, opt_level)
            self._run(module, machine, passes)
            count = self._hidden(INSTRUCTION_COUNT, ctypes.c_uint, c_void_p)(module)
            text = self._text("PrintModuleToString", module) if emit in ("ir", "both") else None
            code = b"" if emit in ("ir", "none") else self._emit(machine, module, emit != "assembly")
            return text, code, count

    def _set(self, options: Sequence[str]) -> None:
        form = self._image.findings.need(PARSE_OPTIONS).form
        words = [b"optctx", *(option.encode() for option in options)]
        argv = (c_char_p * len(words))(*words)
        given = {"argc": len(words), "argv": argv}
        parse = self._hidden(PARSE_OPTIONS, c_bool, *(PARSE_PARAMETERS[name][0] for name in form))
        parse(*(given.get(name, PARSE_PARAMETERS[name][1]) for name in form))

    def _parse(self, held: ExitStack, context: int, ir: str | bytes) -> int:
        message = c_char_p()
        if isinstance(ir, bytes):
            module = self._functions["ParseBitcode"](context, ir, len(ir), byref(message))
        else:
            module = self._functions["ParseAssembly"](context, ir.encode(), byref(message))
        if not module:
            said = (message.value or b"no reason given").decode(errors="replace")
            raise OptctxError(f"cannot read the module: {clipped(' '.join(said.split()))}")
        held.callback(self._functions["DisposeModule"], module)
        return int(module)

    def _machine(
        self, held: ExitStack, module: int, target: Callable[[str], TargetNames], opt_level: int
    ) -> int:
        own = c_char_p()
        self._functions["GetTarget"](module, byref(own))  # the module's own storage
        triple, cpu, features = target((own.value or b"").decode(errors="replace"))
        found = self._functions["GetTargetFromTriple"](triple.encode(), byref(c_char_p()))
        if not found:
            raise OptctxError(f"no target for {shown(triple)}")
        machine = self._functions["CreateTargetMachine"](
            found,
            triple.encode(),
            cpu.encode(),
            features.encode(),
            opt_level,
            b"default",
            b"default",
            0,
            0,
            b"",
        )
        if not machine:
            raise OptctxError(f"no target machine for {shown(triple)}")
        held.callback(self._functions["DisposeTargetMachine"], machine)
        self._functions["SetTarget"](module, triple.encode())
        data = self._functions["CreateTargetMachineData"](machine)
        layout = self._text("CopyStringRepOfTargetData", data)
        self._functions["DisposeTargetData"](data)
        self._functions["SetDataLayout"](module, layout.encode())
        return int(machine)

    def _run(self, module: int, machine: int, passes: str) -> None:
        with ExitStack() as held:
            tuning = self._made(held, "CreatePipelineTuningOptions", "DisposePipelineTuningOptions")
            builder = self._functions["CreatePassBuilder"](machine, tuning)
            held.callback(self._functions["DisposePassBuilder"], builder)
            manager = self._made(held, "CreateNewModulePassManager", "DisposeNewModulePassManger")
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
            self._functions["RunNewModulePassManager"](manager, module, builder)

    def _said(self, error: int) -> str:
        message = self._hidden(COMPILING["error_message"], c_void_p, c_void_p)(error)
        said = ctypes.string_at(message).decode(errors="replace")
        self._hidden(COMPILING["dispose_error_message"], None, c_void_p)(message)
        return said

    def _emit(self, machine: int, module: int, as_object: bool) -> bytes:
        message = c_char_p()
        buffer = self._functions["TargetMachineEmitToMemory"](machine, module, int(as_object), byref(message))
        if not buffer:
            raise OptctxError(
                f"cannot emit: {(message.value or b'no reason given').decode(errors='replace')}"
            )
        start, size = self._functions["GetBufferStart"](buffer), self._functions["GetBufferSize"](buffer)
        code = ctypes.string_at(start, size)
        self._functions["DisposeMemoryBuffer"](buffer)
        return code

    def _text(self, function: str, of: int) -> str:
        text = c_void_p()
        self._functions[function](of, byref(text))
        assert text.value is not None
        copied = ctypes.string_at(text.value).decode(errors="replace")
        self._functions["DisposeString"](text)
        return copied

    def _made(self, held: ExitStack, make: str, dispose: str) -> int:
        made = self._functions[make]()
        held.callback(self._functions[dispose], made)
        return int(made)

    def _exported(self, name: str) -> Any:
        try:
            return getattr(self._library, name)
        except AttributeError:
            raise UnsupportedImageError(
                f"{self._image.path}: expected the function {name}, found none"
            ) from None

    def _hidden(self, fact: Fact[Any], result: Any, *arguments: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *arguments)(self._image.findings.need(fact).address + self._apart)


def _load_copy(path: str) -> ctypes.CDLL:
    """Load a copy of the file. The file itself is gone when this returns; its pages live with the mapping."""
    with tempfile.TemporaryDirectory(prefix="optctx-copy-") as folder:
        copy = os.path.join(folder, "libllvm.so")
        shutil.copyfile(path, copy)
        return ctypes.CDLL(copy)
