"""Nothing that native code throws reaches the thunks before LLVM's functions, which have no unwind table.

As a program, with the library to preload: has LLVM run and parse on threads where optctx's native code finds
no memory. The threads are new, so that what a thread needs once is asked for, too.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import partial

import pytest
from llvmlite import binding

from optctx import OptctxError, OptionContext, attach, contained, drift
from tests.support.cpp_build import SHARED, Build
from tests.support.installed import SANITIZED
from tests.support.ir_texts import COUNTED
from tests.support.processes import WARNINGS, output_of
from tests.support.runs import machine, stores
from tests.support.scopes import UNROLLED_ONCE, in_threads, set_option, unrolled

COUNT = 4


@pytest.mark.skipif(SANITIZED, reason="a sanitizer has an operator new of its own")
def test_where_there_is_no_memory_a_run_of_llvms_and_its_parser_raise_and_the_process_goes_on(
    build: Build,
) -> None:
    library = build("no_memory.cpp", *SHARED)
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    output_of(sys.executable, *WARNINGS, "-m", "tests.native.intercept.test_door", library, env=environment)


def raises(allocations: int, work: Callable[[], object]) -> bool:
    """Do the work; after so many allocations there is no memory. A negative number: there always is."""
    exhaust_after = ctypes.CDLL(sys.argv[1]).exhaust_after
    exhaust_after(allocations)
    try:
        work()
    except (MemoryError, OptctxError):  # which allocation is which depends on the build
        return True
    finally:
        exhaust_after(-1)
    return False


def bound_run(allocations: int) -> None:
    """Run passes on a module whose LLVMContext is bound."""
    with binding.create_context() as context, binding.parse_assembly(COUNTED, context) as module:
        OptionContext(unroll_count=COUNT).bind(context)
        manager = binding.create_new_module_pass_manager()
        manager.add_loop_unroll_pass()
        with machine() as target, binding.create_pipeline_tuning_options() as tuning:
            builder = binding.create_pass_builder(target, tuning)
            assert raises(allocations, lambda: manager.run(module, builder)) == (allocations >= 0)
            assert allocations >= 0 or stores(module) == COUNT


def command_line(allocations: int) -> None:
    """Give LLVM's parser a command line inside a scope."""
    with contained():
        assert raises(allocations, lambda: set_option("unroll-count", str(COUNT))) == (allocations >= 0)
        assert allocations >= 0 or unrolled() == COUNT


if __name__ == "__main__":
    binding.initialize_all_targets()
    attach()
    for work in (bound_run, command_line):
        for allocations in (0, 1, 2, -1):
            in_threads([partial(work, allocations)])
    assert (unrolled(), dict(drift())) == (UNROLLED_ONCE, {})
