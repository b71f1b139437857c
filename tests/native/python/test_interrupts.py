"""An exception that arrives at any moment, as from a signal handler, leaves nothing entered or locked.

Everything runs in processes of its own: an interrupt that leaves something would spoil what comes later.
"""

from __future__ import annotations

import gc
import random
import resource
from collections.abc import Callable

import pytest
from llvmlite import binding

import optctx
from optctx import ContextMismatchError, OptionContext, run_passes
from tests.support import interrupts
from tests.support.alone import alone, end_of
from tests.support.each_instruction import instructions, interrupt_at
from tests.support.installed import SANITIZED, needs_audit
from tests.support.interrupts import PACKAGE, PLACES, SMALL, leftovers, state, works
from tests.support.processes import SECONDS, run_python
from tests.support.scopes import four, unrolled

# Work of tests/support/interrupts.py, and at how many instructions of optctx's code each is interrupted: by
# `make test`, and by `make test-long`.
ALL = 100_000
GROUPS = {
    "scopes": (["empty", "nested", "generators", "run", "decorated", "wrapped", "propagated"], ALL, ALL),
    "unread": (["unread warns", "unread fails"], 100, 1000),
    "compilations": (
        ["compiled", "compiled in the global context", "emitted", "refused", "bound"],
        60,
        ALL,
    ),
    "detach": (["detached"], 20, 400),
    "record": (["recorded"], 40, 400),
    "audit": (["audited"], 40, 400),
    "cache": (["cached"], 20, 400),
    "watch": (["watched"], 20, 400),
    "set inside": (["set inside"], ALL, ALL),
}
NEEDS = {"audit": (needs_audit,)}


def ends_well(test: Callable[..., object], seconds: float = SECONDS, **given: object) -> None:
    """Run it in an attached process of its own; what interrupts do to finalisers may be printed."""
    end = end_of(test, seconds, works, **given)
    assert (end.status, end.failed) == (0, ""), f"{end.failed}\n{end.printed[-4000:]}"


@pytest.mark.parametrize(
    ("names", "most"),
    [
        *(
            pytest.param(names, few, id=group, marks=NEEDS.get(group, ()))
            for group, (names, few, _) in GROUPS.items()
        ),
        *(
            pytest.param(names, many, id=f"{group}, often", marks=(pytest.mark.long, *NEEDS.get(group, ())))
            for group, (names, few, many) in GROUPS.items()
            if few < many
        ),
    ],
)
def test_an_exception_at_any_instruction_leaves_nothing_behind(names: list[str], most: int) -> None:
    ends_well(interrupt_each, names=names, most=most)


def interrupt_each(names: list[str], most: int) -> None:
    work = works()
    assert sum(instructions(work[name], PLACES) for name in names) > 5
    found = {name: leftovers(work[name], most) for name in names}
    assert not any(found.values()), found


@pytest.mark.parametrize("signals", [1000, pytest.param(100_000, marks=pytest.mark.long)])
def test_signals_at_random_moments_leave_nothing_behind(signals: int) -> None:
    ends_well(send_signals, SECONDS + signals / 50, signals=signals)


def send_signals(signals: int) -> None:
    assert interrupts.main([str(signals)]) == 0


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
    total = instructions(work, (PACKAGE,))
    assert total > 100
    for number in range(1, total + 1, max(1, total // most)):
        interrupt_at(work, number, (PACKAGE,))
    work()


def test_a_signal_waits_while_the_native_module_is_loaded() -> None:
    """Its types make Python code run, and there an exception ended the process."""
    assert run_python("""
        import _signal, enum, os, signal

        class Interrupt(BaseException): pass

        def interrupt(*_):
            raise Interrupt

        def call(*arguments, **keywords):
            if signal.SIGUSR1 in _signal.pthread_sigmask(signal.SIG_BLOCK, ()):
                os.kill(os.getpid(), signal.SIGUSR1)
            return own(*arguments, **keywords)

        signal.signal(signal.SIGUSR1, interrupt)
        own, enum.EnumMeta.__call__ = enum.EnumMeta.__call__, call
        try:
            import optctx._native
        except Interrupt:
            print("interrupted")
        enum.EnumMeta.__call__ = own
        assert not signal.pthread_sigmask(signal.SIG_BLOCK, ())
        from optctx import OptionContext
        with OptionContext(unroll_count=2) as made:
            print(made["unroll-count"])
    """).split() == ["interrupted", "2"]


def test_attaching_that_is_interrupted_is_done_by_the_next_use() -> None:
    end = end_of(interrupt_attaching)
    assert (end.status, end.failed) == (0, ""), f"{end.failed}\n{end.printed[-4000:]}"


def interrupt_attaching() -> None:
    chance = random.Random(4)
    at = 1
    while optctx.engine.attach.attached() is None:
        at = int(at * chance.uniform(1.5, 4)) + 1
        interrupt_at(optctx.attach, at, (PACKAGE,))
    with OptionContext(unroll_count=4):
        assert unrolled() == 4
    assert unrolled() == 1
    optctx.detach()
    assert optctx.engine.attach.attached() is None


@alone
def test_memory_that_runs_out_while_entering_is_an_error_and_changes_nothing() -> None:
    _testcapi = pytest.importorskip("_testcapi")
    context = four()
    context.run(int)
    gc.disable()
    before = state()
    enter, leave = type(context).__enter__, type(context).__exit__
    failed = 0
    for number in range(20):
        _testcapi.set_nomemory(number, number + 1)
        try:
            enter(context)
        except MemoryError:
            failed += 1
            _testcapi.remove_mem_hooks()
            assert state() == before
        else:
            _testcapi.remove_mem_hooks()
            leave(context, None, None, None)
    assert failed >= 2
    assert state() == before
    with context:
        assert unrolled() == 4


@pytest.mark.skipif(
    SANITIZED,
    reason="needs a build without sanitizer, which reserves its memory before the limit is set",
)
@alone
def test_so_is_memory_that_the_system_does_not_give() -> None:
    contexts = [four(inline_threshold=number) for number in range(4000)]
    before = state()
    entered = []
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (size + (40 << 20), resource.RLIM_INFINITY))
    try:
        for context in contexts:
            context.__enter__()
            entered.append(context)
    except MemoryError:
        pass
    else:
        raise AssertionError("there was memory for all")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert len(entered) > 10
    for context in reversed(entered):
        context.__exit__(None, None, None)
    assert state() == before


def test_exit_asks_for_an_object() -> None:
    with pytest.raises(TypeError):
        OptionContext.__exit__()  # type: ignore[call-arg]
    with pytest.raises(RuntimeError, match="__init__"):
        OptionContext.__new__(OptionContext).__enter__()
