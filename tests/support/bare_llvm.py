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
from ctypes import byref, c_char_p, c_void_p
from functools import partial
from typing import Any

from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.processes import in_child, python_process

JOBS = {"count": COUNTED, "scale": SCALE}
_SPEED = 3  # -O3
_INITIALISERS = ("AllTargetInfos", "AllTargets", "AllTargetMCs", "AllAsmPrinters", "NativeAsmParser")


class _Result(c_void_p):
    """What a function returns, as the others take it: not a number, which ctypes would cut to 32 bits."""


class BareLlvm:
    """Every call releases the GIL and takes no lock: use one LLVMContext on one thread, as `digests` does.

    Raises RuntimeError with what LLVM says.
    """

    def __init__(self, path: str | pathlib.Path) -> None:
        self.path = str(path)
        self.library = ctypes.CDLL(self.path)  # with local symbols
        for each in _INITIALISERS:
            self._call(f"Initialize{each}")

    def _call(self, name: str, *arguments: object) -> Any:
        function = self.library[f"LLVMPY_{name}"]
        function.restype = _Result
        return function(*arguments)

    def _made(self, name: str, *arguments: object) -> Any:
        """The result of a function that says why it has none."""
        said = c_char_p()
        if not (result := self._call(name, *arguments, byref(said))):
            raise RuntimeError((said.value or b"no reason given").decode(errors="replace"))
        return result

    def set_option(self, argument: str) -> None:
        """For the whole process, as a command line does."""
        self._call("SetCommandLine", b"bare", argument.encode())

    @contextmanager
    def module(
        self, ir: str, begin: Callable[[int], None] = lambda context: None
    ) -> Iterator[tuple[int, Any]]:
        """An LLVMContext, with whose address `begin` was called, and a module in it, until the block ends."""
        with ExitStack() as held:
            context = self._call("ContextCreate")
            held.callback(self._call, "ContextDispose", context)
            begin(context.value)
            module = self._made("ParseAssembly", context, ir.encode())
            held.callback(self._call, "DisposeModule", module)
            yield context.value, module

    def run(self, module: Any, machine: Any = None) -> None:
        """Run -O3 on a module, in place."""
        tuning = self._call("CreatePipelineTuningOptions")
        builder = self._call("CreatePassBuilder", machine, tuning)
        manager = self._call("buildPerModuleDefaultPipeline", builder, _SPEED, 0)  # the size level: to 0.47
        self._call("RunNewModulePassManager", manager, module, builder)
        self._call("DisposeNewModulePassManger", manager)  # the library's own spelling
        self._call("DisposePassBuilder", builder)
        self._call("DisposePipelineTuningOptions", tuning)

    def digests(self, begin: Callable[[int], None] = lambda context: None) -> dict[str, str]:
        """Of the IR after -O3 and the object, by the name of the job. `begin`: as for `module`."""
        target = self._made("GetTargetFromTriple", X86.encode())
        words = b"default", b"default"
        machine = self._call(
            "CreateTargetMachine", target, X86.encode(), b"", b"+avx2", _SPEED, *words, 0, 0, b""
        )
        found = {}
        for name, ir in JOBS.items():
            with self.module(ir, begin) as (_, module):
                self.run(module, machine)
                whole = self.text(module).encode() + b"\0" + self._emit(machine, module)
                found[name] = hashlib.sha256(whole).hexdigest()
        self._call("DisposeTargetMachine", machine)
        return found

    def text(self, module: Any) -> str:
        """The module."""
        text = c_void_p()
        self._call("PrintModuleToString", module, byref(text))
        assert text.value is not None
        copy = ctypes.string_at(text.value).decode(errors="replace")
        self._call("DisposeString", text)
        return copy

    def _emit(self, machine: Any, module: Any) -> bytes:
        buffer = self._made("TargetMachineEmitToMemory", machine, module, 1)
        start, size = self._call("GetBufferStart", buffer), self._call("GetBufferSize", buffer)
        code = ctypes.string_at(start, size.value)
        self._call("DisposeMemoryBuffer", buffer)
        return code


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
