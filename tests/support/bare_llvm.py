"""A library of llvmlite's, called without llvmlite. A copy of its file is a second LLVM with own globals.

python -m tests.support.bare_llvm LIBRARY ARGUMENT...    what each option gives, as digests
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import pathlib
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from functools import partial

from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.processes import in_child, python_process

JOBS = {"count": COUNTED, "scale": SCALE}
_SPEED = 3  # -O3
_PROTOTYPES: dict[str, tuple[type | None, tuple[type, ...]]] = {
    "LLVMPY_ContextCreate": (c_void_p, ()),
    "LLVMPY_ContextDispose": (None, (c_void_p,)),
    "LLVMPY_ParseAssembly": (c_void_p, (c_void_p, c_char_p, POINTER(c_char_p))),
    "LLVMPY_DisposeModule": (None, (c_void_p,)),
    "LLVMPY_PrintModuleToString": (None, (c_void_p, POINTER(c_void_p))),
    "LLVMPY_DisposeString": (None, (c_void_p,)),
    "LLVMPY_GetTargetFromTriple": (c_void_p, (c_char_p, POINTER(c_char_p))),
    "LLVMPY_CreateTargetMachine": (
        c_void_p,
        (c_void_p, c_char_p, c_char_p, c_char_p, c_int, c_char_p, c_char_p, c_int, c_int, c_char_p),
    ),
    "LLVMPY_DisposeTargetMachine": (None, (c_void_p,)),
    "LLVMPY_CreatePipelineTuningOptions": (c_void_p, ()),
    "LLVMPY_DisposePipelineTuningOptions": (None, (c_void_p,)),
    "LLVMPY_CreatePassBuilder": (c_void_p, (c_void_p, c_void_p)),
    "LLVMPY_DisposePassBuilder": (None, (c_void_p,)),
    "LLVMPY_buildPerModuleDefaultPipeline": (
        c_void_p,
        (c_void_p, c_int, c_int),
    ),  # the size level: to llvmlite 0.47
    "LLVMPY_RunNewModulePassManager": (None, (c_void_p, c_void_p, c_void_p)),
    "LLVMPY_DisposeNewModulePassManger": (None, (c_void_p,)),  # the library's own spelling
    "LLVMPY_TargetMachineEmitToMemory": (c_void_p, (c_void_p, c_void_p, c_int, POINTER(c_char_p))),
    "LLVMPY_GetBufferStart": (c_void_p, (c_void_p,)),
    "LLVMPY_GetBufferSize": (c_size_t, (c_void_p,)),
    "LLVMPY_DisposeMemoryBuffer": (None, (c_void_p,)),
    "LLVMPY_SetCommandLine": (None, (c_char_p, c_char_p)),
}
_INITIALISERS = ("AllTargetInfos", "AllTargets", "AllTargetMCs", "AllAsmPrinters", "NativeAsmParser")


class BareLlvm:
    """Every call releases the GIL and takes no lock: use one LLVMContext on one thread, as `compile` does.

    Raises RuntimeError with what LLVM says.
    """

    def __init__(self, path: str | pathlib.Path) -> None:
        self.path = str(path)
        self.library = ctypes.CDLL(self.path)  # with local symbols
        for name, (result, arguments) in _PROTOTYPES.items():
            function = getattr(self.library, name)
            function.restype, function.argtypes = result, arguments
        for each in _INITIALISERS:
            getattr(self.library, f"LLVMPY_Initialize{each}")()

    def set_option(self, argument: str) -> None:
        """For the whole process, as a command line does."""
        self.library.LLVMPY_SetCommandLine(b"bare", argument.encode())

    def compile(self, ir: str, begin: Callable[[int], None] = lambda context: None) -> tuple[str, bytes]:
        """The IR after -O3, and the object. `begin` is called with the address of the new LLVMContext."""
        with self.module(ir, begin) as (_, module), self.machine() as machine:
            self.run(module, machine)
            return self.text(module), self.emit(machine, module)

    @contextmanager
    def module(
        self, ir: str, begin: Callable[[int], None] = lambda context: None
    ) -> Iterator[tuple[int, int]]:
        """An LLVMContext, with which `begin` was called, and a module in it, until the block ends."""
        library, said = self.library, c_char_p()
        with ExitStack() as held:
            context = library.LLVMPY_ContextCreate()
            held.callback(library.LLVMPY_ContextDispose, context)
            begin(context)
            module = library.LLVMPY_ParseAssembly(context, ir.encode(), byref(said))
            if not module:
                raise RuntimeError(_words("cannot read the module", said))
            held.callback(library.LLVMPY_DisposeModule, module)
            yield context, module

    @contextmanager
    def machine(self) -> Iterator[int]:
        """A target machine for x86-64, until the block ends."""
        target = self.library.LLVMPY_GetTargetFromTriple(X86.encode(), byref(c_char_p()))
        machine = self.library.LLVMPY_CreateTargetMachine(
            target, X86.encode(), b"", b"+avx2", _SPEED, b"default", b"default", 0, 0, b""
        )
        try:
            yield machine
        finally:
            self.library.LLVMPY_DisposeTargetMachine(machine)

    def run(self, module: int, machine: int | None = None) -> None:
        """Run -O3 on a module, in place."""
        library = self.library
        tuning = library.LLVMPY_CreatePipelineTuningOptions()
        builder = library.LLVMPY_CreatePassBuilder(machine, tuning)
        manager = library.LLVMPY_buildPerModuleDefaultPipeline(builder, _SPEED, 0)
        library.LLVMPY_RunNewModulePassManager(manager, module, builder)
        library.LLVMPY_DisposeNewModulePassManger(manager)
        library.LLVMPY_DisposePassBuilder(builder)
        library.LLVMPY_DisposePipelineTuningOptions(tuning)

    def digests(self, begin: Callable[[int], None] = lambda context: None) -> dict[str, str]:
        """Of everything that the jobs give, by the name of the job. `begin`: as for `compile`."""
        found = {}
        for name, ir in JOBS.items():
            text, code = self.compile(ir, begin)
            found[name] = hashlib.sha256(text.encode() + b"\0" + code).hexdigest()
        return found

    def text(self, module: int) -> str:
        """The module."""
        text = c_void_p()
        self.library.LLVMPY_PrintModuleToString(module, byref(text))
        assert text.value is not None
        copy = ctypes.string_at(text.value).decode(errors="replace")
        self.library.LLVMPY_DisposeString(text)
        return copy

    def emit(self, machine: int, module: int) -> bytes:
        """An object."""
        said = c_char_p()
        buffer = self.library.LLVMPY_TargetMachineEmitToMemory(machine, module, 1, byref(said))
        if not buffer:
            raise RuntimeError(_words("cannot emit", said))
        start, size = self.library.LLVMPY_GetBufferStart(buffer), self.library.LLVMPY_GetBufferSize(buffer)
        code = ctypes.string_at(start, size)
        self.library.LLVMPY_DisposeMemoryBuffer(buffer)
        return code


def _words(what: str, said: c_char_p) -> str:
    why = (said.value or b"no reason given").decode(errors="replace")
    return f"{what}: {' '.join(why.split())}"


def digests_by_argument(path: str | pathlib.Path, arguments: Iterable[str]) -> dict[str, dict[str, str]]:
    """By argument, "" for none: the digests of a process without optctx that was given it process-wide.

    No two are alike, or else comparing with them would prove nothing.
    """
    told = python_process("-m", "tests.support.bare_llvm", str(path), *arguments)
    assert (told.returncode, told.stderr) == (0, ""), told.stderr
    found = {
        argument: json.loads(line) for argument, line in zip(arguments, told.stdout.splitlines(), strict=True)
    }
    assert len({json.dumps(each) for each in found.values()}) == len(found), "the options must matter"
    return found


def _tell(llvm: BareLlvm, argument: str) -> None:
    if argument:
        llvm.set_option(argument)
    print(json.dumps(llvm.digests()), flush=True)


if __name__ == "__main__":
    loaded = BareLlvm(sys.argv[1])
    assert "optctx" not in sys.modules
    for argument in sys.argv[2:]:
        in_child(partial(_tell, loaded, argument))
