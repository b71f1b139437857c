"""Has LLVM run and parse on threads where optctx's native code finds no memory. Prints what that gives.

The threads are new, so that what a thread needs once is asked for, too.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import partial

from llvmlite import binding

from optctx import OptctxError, OptionContext, attach, contained, drift
from tests.support.ir_texts import COUNTED
from tests.support.runs import machine, stores
from tests.support.scopes import UNROLLED_ONCE, in_threads, set_option, unrolled

COUNT = 4
exhaust_after = ctypes.CDLL(sys.argv[1]).exhaust_after


def bound_run(allocations: int) -> None:
    """Run passes on a module whose LLVMContext is bound."""
    with binding.create_context() as context, binding.parse_assembly(COUNTED, context) as module:
        OptionContext(unroll_count=COUNT).bind(context)
        manager = binding.create_new_module_pass_manager()
        manager.add_loop_unroll_pass()
        with machine() as target, binding.create_pipeline_tuning_options() as tuning:
            builder = binding.create_pass_builder(target, tuning)
            fails(allocations, lambda: manager.run(module, builder))
            if allocations < 0:
                print(stores(module) == COUNT)


def command_line(allocations: int) -> None:
    """Give LLVM's parser a command line inside a scope."""
    with contained():
        fails(allocations, lambda: set_option("unroll-count", str(COUNT)))
        if allocations < 0:
            print(unrolled() == COUNT)


def fails(allocations: int, work: Callable[[], object]) -> None:
    """Do the work; after so many allocations there is no memory. A negative number: there always is."""
    exhaust_after(allocations)
    try:
        work()
    except (MemoryError, OptctxError):  # which allocation is which depends on the build
        print(allocations, "raised")
    finally:
        exhaust_after(-1)


binding.initialize_all_targets()
attach()
for each in (bound_run, command_line):
    print(each.__name__)
    for allocations in (0, 1, 2, -1):
        in_threads([partial(each, allocations)])
print(unrolled() == UNROLLED_ONCE, not drift())
