"""What a bound LLVMContext costs for each pass manager that LLVM starts; the baseline is an unbound one."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable
from typing import Any

from llvmlite import binding

import optctx
from evidence.benchmarks._report import Report, spread
from optctx import OptionContext
from optctx.engine.attach import attach

_REPEATS = 15
_FUNCTIONS = 40
_MANAGERS = 50
_LIMIT = 200.0  # nanoseconds for each pass manager that is entered
_ENTRIES = 1 + _MANAGERS * _FUNCTIONS  # the module's pass manager, and those of the functions

_EMPTY = "define void @f{0}() {{ ret void }}\n"


def main() -> int:
    report = Report("Pass managers on a module of a bound LLVMContext")
    attach()
    with binding.create_context() as llvm_context:
        module = binding.parse_assembly("".join(map(_EMPTY.format, range(_FUNCTIONS))), llvm_context)
        pipeline = ",".join(["function(no-op-function)"] * _MANAGERS)
        _compare(
            report,
            f"a run that enters {_ENTRIES:,} pass managers",
            lambda: optctx.run_passes(module, pipeline),
            llvm_context,
            _ENTRIES,
            _LIMIT,
        )
        empty = _empty_manager(module)
        _compare(
            report, "an empty pass manager, 1,000 times", lambda: _times(empty), llvm_context, 1000, None
        )
        module.close()
    return report.end()


def _times(run: Callable[[], object]) -> None:
    for _ in range(1000):
        run()


def _compare(
    report: Report,
    name: str,
    work: Callable[[], object],
    llvm_context: Any,
    entries: int,
    limit: float | None,
) -> None:
    """Nanoseconds that each entry takes longer where the LLVMContext is bound; runs alternate."""
    context = OptionContext({"unroll-count": 3})
    unbound, bound = [], []
    work()
    for _ in range(_REPEATS):
        unbound.append(_seconds(work))
        context.bind(llvm_context)
        work()
        bound.append(_seconds(work))
        optctx.unbind(llvm_context)
    print(f"\n{name}, nanoseconds for each")
    report.line("unbound (baseline)", spread(unbound).text(1e9 / entries, 0))
    report.line("bound", spread(bound).text(1e9 / entries, 0))
    more = (spread(bound).median - spread(unbound).median) * 1e9 / entries
    if limit is None:
        report.line("bound, more than unbound, medians", f"{more:.0f} (the whole switch and back)")
    else:
        report.target("bound, more than unbound, medians", more, limit, " ns")


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _empty_manager(module: Any) -> Callable[[], object]:
    """An empty legacy pass manager, run on one function: nothing but the way in and out."""
    image = attach().image
    pointer = ctypes.c_void_p

    def function(name: str, *arguments: type[Any]) -> Any:
        address = image.symbol(name)
        assert address is not None
        return ctypes.PYFUNCTYPE(pointer, *arguments)(address)

    create = function("LLVMCreateFunctionPassManagerForModule", pointer)
    run = function("LLVMRunFunctionPassManager", pointer, pointer)
    manager = create(ctypes.cast(module._ptr, pointer))
    target = ctypes.cast(next(iter(module.functions))._ptr, pointer)
    return lambda: run(manager, target)


if __name__ == "__main__":
    sys.exit(main())
