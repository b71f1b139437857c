"""A pool of threads compiles modules of differently bound LLVMContexts: no `with`, no bookkeeping.

Run it: python examples/thread_pool.py
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llvmlite.binding as llvm

from optctx import OptionContext, run_passes

IR = Path(__file__).with_name("kernel.ll").read_text()


def make_module(unroll: int) -> llvm.ModuleRef:
    """A module of an LLVMContext of its own, to which its options belong from now on."""
    llvm_context = llvm.create_context()
    OptionContext({"unroll-count": unroll}).bind(llvm_context)
    return llvm.parse_assembly(IR, llvm_context)


def compile_module(module: llvm.ModuleRef) -> int:
    """Knows nothing of options: whichever thread runs it, LLVM sees those of the module."""
    run_passes(module, "default<O3>")
    return str(module).count(" = ")


def main() -> None:
    counts = (1, 2, 4, 8)
    modules = [make_module(count) for count in counts]
    with ThreadPoolExecutor(4) as pool:
        for count, values in zip(counts, pool.map(compile_module, modules), strict=True):
            print(f"unroll-count={count}: {values} values")


if __name__ == "__main__":
    main()
