"""The LLVM that is judged: llvmlite's, or one that users build (`--llvm`), for every process of one run."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from optctx import libllvm
from optctx.errors import OptctxError

if TYPE_CHECKING:
    from evidence.conformance.job import Job
    from optctx.image.loaded import Image

_NAMED = "OPTCTX_CONFORMANCE_LLVM"


def choose_library(path: str | None) -> None:
    """Have this process and those that it starts judge a library; by default, llvmlite's."""
    if path:
        os.environ[_NAMED] = libllvm.path_of(path)


@cache
def library() -> libllvm.LibLLVM | None:
    """The one that users build, or None for llvmlite's."""
    path = os.environ.get(_NAMED)
    return libllvm.open(path) if path else None


def judged_image() -> Image | None:
    """For the parameter `image`."""
    llvm = library()
    return None if llvm is None else llvm.image


def compile_by_llvm_c(
    llvm: libllvm.LibLLVM, job: Job, text: str, prepare: Callable[[libllvm.Module], object] = lambda _: None
) -> bytes:
    """As `opt` and `llc` do, once the module is prepared. Raises OptctxError."""
    if job.abi:
        raise OptctxError("no ABI can be named here")
    c = ctypes.CDLL(llvm.path)
    with llvm.parse(text) as module:
        prepare(module)
        address = ctypes.c_void_p(module.address)
        if job.triple:
            c.LLVMSetTarget(address, job.triple.encode())
        if job.layout:
            c.LLVMSetDataLayout(address, job.layout.encode())
        triple = job.triple or module.triple
        if job.tool == "opt" and not triple:
            llvm.run_passes(module, job.passes)
            return str(module).encode()
        with llvm.target_machine(
            triple, job.cpu, job.features, job.opt_level, job.reloc, job.code_model
        ) as machine:
            if job.tool == "opt":
                llvm.run_passes(module, job.passes, machine)
                return str(module).encode()
            module.take_target(machine)
            if job.as_object:
                return llvm.emit_object(module, machine)
            return llvm.emit_assembly(module, machine).encode()
