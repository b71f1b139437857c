"""An exception that arrives at any moment, as from a signal handler, leaves nothing entered or locked.

Everything runs in processes of its own: an interrupt that leaves something would spoil what comes later.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from llvmlite import binding

from optctx import ContextMismatchError, OptionContext, run_passes
from tests.support.alone import end_of
from tests.support.each_instruction import instructions, interrupt_at
from tests.support.interrupts import PLACES, SMALL, leftovers, works
from tests.support.processes import SECONDS
from tests.support.scopes import four

# Work of tests/support/interrupts.py, and at how many instructions of optctx's code each is interrupted, at
# most; `make test-long` does ten times as many.
GROUPS = [
    (["empty", "nested", "generators", "run", "decorated", "wrapped", "propagated", "set inside"], 100_000),
    (["compiled", "compiled in the global context", "emitted", "refused", "bound"], 60),
    (["unread warns", "unread fails", "recorded", "watched"], 30),
]


def ends_well(test: Callable[..., object], **given: object) -> None:
    """Run it in an attached process of its own; what interrupts do to finalisers may be printed."""
    end = end_of(test, SECONDS, works, **given)
    assert (end.status, end.failed) == (0, ""), f"{end.failed}\n{end.printed[-4000:]}"


@pytest.mark.parametrize("times", [1, pytest.param(10, marks=pytest.mark.long)])
def test_an_exception_at_any_instruction_leaves_nothing_behind(times: int) -> None:
    for names, most in GROUPS:
        ends_well(interrupt_each, names=names, most=most * times)


def interrupt_each(names: list[str], most: int) -> None:
    work = works()
    assert sum(instructions(work[name], PLACES) for name in names) > 5
    found = {name: leftovers(work[name], most) for name in names}
    assert not any(found.values()), found


@pytest.mark.parametrize("most", [30, pytest.param(400, marks=pytest.mark.long)])
def test_one_inside_llvm_is_raised_by_the_call_that_made_llvm_run(most: int) -> None:
    ends_well(interrupt_inside_llvm, most=most)


def interrupt_inside_llvm(most: int) -> None:
    llvm_context = binding.create_context()
    module = binding.parse_assembly(SMALL, llvm_context)
    four().bind(llvm_context, on_mismatch="error")
    other = OptionContext(unroll_count=8, base="defaults")

    def work() -> None:
        try:
            other.run(run_passes, module, "function(instcombine)")
        except ContextMismatchError:
            return
        raise SystemError("nothing was run, and nothing was raised")

    work()
    total = instructions(work, PLACES)
    assert total > 100
    for number in range(1, total + 1, max(1, total // most)):
        interrupt_at(work, number, PLACES)
    work()


def test_exit_asks_for_an_object() -> None:
    with pytest.raises(TypeError):
        OptionContext.__exit__()  # type: ignore[call-arg]
    with pytest.raises(RuntimeError, match="__init__"):
        OptionContext.__new__(OptionContext).__enter__()
