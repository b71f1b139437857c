"""An LLVM that you build as a shared library, called through LLVM-C.

    from optctx import OptionContext, libllvm
    llvm = libllvm.open("/opt/llvm/lib/libLLVM.so")
    with OptionContext(unroll_count=4, image=llvm.image), llvm.parse(text) as module:
        llvm.run_passes(module, "default<O3>")

No call takes a lock, and each releases the GIL: use as many threads as you like, and each module and each
target machine on one thread at a time. llvmlite is not needed.
"""

from optctx.libllvm.files import Installed, installed
from optctx.libllvm.llvm import LibLLVM, Module, TargetMachine, open, path_of

__all__ = ["Installed", "LibLLVM", "Module", "TargetMachine", "installed", "open", "path_of"]
