"""Attaching and detaching while other threads run LLVM, whatever signals they block or handle."""

from __future__ import annotations

import signal
from collections.abc import Iterable

import optctx
from optctx.compiling import Job, compile_job
from tests.support.alone import alone
from tests.support.ir_texts import CALLS, SCALE, X86
from tests.support.library_code import changed_code
from tests.support.scopes import in_threads, meanwhile, unrolled


@alone
def test_attaching_and_detaching_beside_threads_that_compile_block_every_signal_or_come_and_go() -> None:
    jobs = [Job(SCALE, triple=X86), Job(CALLS, triple=X86), Job(CALLS, "default<O1>", triple=X86)]
    expected = [compile_job(job) for job in jobs]
    assert all(result.error is None for result in expected)
    compiled = [0, 0]

    def compile(number: int, blocked: Iterable[int]) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)
        for job, result in zip(jobs, expected, strict=False):
            assert compile_job(job) == result
            compiled[number] += 1

    def churn() -> None:  # the C library blocks every signal in a thread while it starts and while it ends
        in_threads([int] * 4)

    with meanwhile(lambda: compile(0, ()), lambda: compile(1, signal.valid_signals()), churn):
        for round in range(4):
            with optctx.OptionContext({"unroll-count": 4}):
                assert round % 4 or unrolled() == 4
            assert changed_code()
            optctx.detach()
            assert changed_code() == []
        optctx.attach()
        while min(compiled) < 4:
            pass
    optctx.detach()
    assert changed_code() == []


@alone
def test_attaching_handles_no_signal_and_leaves_handlers_alone() -> None:
    def handlers() -> list[str]:  # as the kernel has them: SigCgt and SigIgn of every signal
        with open("/proc/self/status") as status:
            return [line for line in status if line.startswith(("SigCgt", "SigIgn"))]

    seen: list[int] = []
    for handler in (signal.SIG_IGN, signal.SIG_DFL, lambda *arguments: seen.append(arguments[0])):
        optctx.attach()
        signal.signal(signal.SIGTRAP, handler)
        before = handlers()
        optctx.detach()
        assert handlers() == before
        with optctx.OptionContext({"unroll-count": 4}):
            assert unrolled() == 4
        assert handlers() == before
    signal.raise_signal(signal.SIGTRAP)
    assert seen == [signal.SIGTRAP]
