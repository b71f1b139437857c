"""Attaching and detaching while other threads run LLVM, whatever signals they block or handle."""

from __future__ import annotations

import signal
import threading

import pytest

import optctx
from optctx.compiling import Job, compile_job
from optctx.engine.attach import attached, when_attached
from tests.support.alone import alone
from tests.support.ir_texts import CALLS, SCALE, X86
from tests.support.library_code import changed_code
from tests.support.scopes import in_threads, unrolled

pytestmark = pytest.mark.redirected


@alone
def test_attaching_and_detaching_while_other_threads_compile_changes_no_result() -> None:
    jobs = [Job(SCALE, triple=X86), Job(CALLS, triple=X86), Job(CALLS, "default<O1>", triple=X86)]
    expected = [compile_job(job) for job in jobs]
    assert all(result.error is None for result in expected)
    done = threading.Event()
    compiled = [0, 0]

    def compile(number: int) -> None:
        while not done.is_set():
            for job, result in zip(jobs, expected, strict=False):
                assert compile_job(job) == result
                compiled[number] += 1

    def switch() -> None:
        try:
            for _ in range(4):
                with optctx.OptionContext({"unroll-count": 4}):
                    assert unrolled() == 4
                assert changed_code()
                optctx.detach()
                assert changed_code() == []
        finally:
            done.set()

    in_threads([lambda: compile(0), lambda: compile(1), switch])
    assert min(compiled) > 5, compiled


@alone
def test_threads_that_block_every_signal_run_llvm_while_its_code_is_changed() -> None:
    jobs = [Job(SCALE, triple=X86), Job(CALLS, triple=X86)]
    expected = [compile_job(job) for job in jobs]
    assert all(result.error is None for result in expected)
    done = threading.Event()
    compiled = [0, 0]

    def compile(number: int) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while not done.is_set():
            for job, result in zip(jobs, expected, strict=False):
                assert compile_job(job) == result
                compiled[number] += 1

    def switch() -> None:
        try:
            for _ in range(15):
                optctx.attach()
                optctx.detach()
            optctx.attach()
            while min(compiled) < 10:
                pass
        finally:
            done.set()

    in_threads([lambda: compile(0), lambda: compile(1), switch])
    with optctx.OptionContext({"unroll-count": 4}):
        assert unrolled() == 4
    optctx.detach()
    assert changed_code() == []


@alone
def test_attaching_handles_no_signal() -> None:
    def handlers() -> list[str]:  # as the kernel has them: SigCgt and SigIgn of every signal
        with open("/proc/self/status") as status:
            return [line for line in status if line.startswith(("SigCgt", "SigIgn"))]

    before = handlers()
    for _ in range(2):
        optctx.attach()
        assert handlers() == before
        optctx.detach()
    assert handlers() == before


@alone
def test_a_handler_that_is_installed_between_two_changes_of_code_is_none_of_our_business() -> None:
    seen = []
    for handler in (signal.SIG_IGN, signal.SIG_DFL, lambda *arguments: seen.append(arguments[0])):
        optctx.attach()
        signal.signal(signal.SIGTRAP, handler)
        optctx.detach()
        with optctx.OptionContext({"unroll-count": 4}):
            assert unrolled() == 4
    signal.raise_signal(signal.SIGTRAP)
    assert seen == [signal.SIGTRAP]


@alone
def test_threads_that_come_and_go_are_no_reason_not_to_attach() -> None:
    # The C library blocks every signal in a thread while it starts and while it ends.
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            threads = [threading.Thread(target=int) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    def switch() -> None:
        try:
            for _ in range(15):
                optctx.registry()
                optctx.detach()
        finally:
            done.set()

    in_threads([churn, churn, switch])


@alone
def test_what_interrupts_a_second_attach_may_use_optctx() -> None:
    # A signal handler or a finaliser, between two instructions; here what attaching itself calls.
    seen: list[int] = []

    def interrupt() -> None:
        if attached() is None and not seen:
            seen.append(True)
            with optctx.OptionContext({"unroll-count": 8}):
                seen.append(unrolled())

    optctx.attach()
    when_attached(interrupt)
    for _ in range(2):
        optctx.detach()
        seen.clear()
        with optctx.OptionContext({"unroll-count": 4}):
            assert unrolled() == 4
        assert seen == [True, 8]
        assert unrolled() == 1
    optctx.detach()
    assert changed_code() == []
