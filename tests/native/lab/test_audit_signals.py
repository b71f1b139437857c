"""How the audit lets accesses go on without a trace: registers, flags, protections, other signals."""

from __future__ import annotations

import ctypes
import faulthandler
import itertools
import mmap
import os
import pathlib
import resource
import signal
import tempfile
import threading
from collections.abc import Callable
from functools import partial

import pytest

from optctx import OptionContext
from optctx.compiling import Job, compile_job
from optctx.engine.attach import attach
from tests.native.lab.auditing import handlers, page_table
from tests.support.alone import alone
from tests.support.audit import AuditError, audit
from tests.support.forking import run_and_end
from tests.support.ir_texts import CALLS, X86
from tests.support.scopes import in_threads, unrolled

pytestmark = pytest.mark.redirected


@alone
def test_accesses_across_pages_and_repeated_ones_go_through_unharmed() -> None:
    engine = attach()
    own = [region for region in engine.plan.regions if region.scoped and not region.shared]
    pages = sorted({region.live & -4096 for region in own})
    ends = [page + 4096 for page in pages if page + 4096 in pages]
    assert len(ends) > 50
    ends = ends[::40]
    expected = [ctypes.string_at(end - 4096, 8192) for end in ends]
    with audit() as seen:
        for end, data in zip(ends, expected, strict=False):
            for size in (2, 16, 32, 64):
                middle = ctypes.string_at(end - size // 2, size)
                assert middle == data[4096 - size // 2 : 4096 + size // 2]
            assert ctypes.string_at(end - 4096, 8192) == data
    assert seen.neighbours + seen.entitled > 8 * len(ends)
    assert seen.accesses == []


# Reads at rdi or r12 that the audit does by hand, and some of their relatives that it does not.
BY_HAND = """
8b07 488b4708 4c8b8f00010000 458b0c24 498b442408 4a8b440708 0fb607 4c0fb64f08
483b07 3b4708 4c390f 4139442408 803f00 807f08ff 833f05 4883bf0001000080
"""
BY_STEP = "480307 488507 668b07 663b07 3a07 0fb707 480fbe07 8a4708 48ff37415b 0f1007"


@pytest.mark.parametrize("codes", [BY_HAND, BY_STEP], ids=["by hand", "by a step"])
@alone
def test_every_kind_of_read_gives_registers_and_flags_as_ever(codes: str) -> None:
    by_hand = codes == BY_HAND
    engine = attach()
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    out = (ctypes.c_uint64 * 4)()
    begin = ctypes.addressof(ctypes.c_char.from_buffer(code))
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_uint64] * 3)(begin)

    def load(instruction: str) -> None:
        code.seek(0)
        # push r12; mov r12, rdi; mov rax, rsi; mov r9, rsi; xor r11d, r11d; xor r8d, r8d; ...
        # mov [rdx], rax; mov [rdx+8], r9; mov [rdx+16], r11; pushf; pop [rdx+24]; pop r12; ret
        code.write(bytes.fromhex("41544989fc4889f04989f14531db4531c0" + instruction))
        code.write(bytes.fromhex("4889024c894a084c895a109c8f4218415cc3"))

    def results(address: int, values: list[int]) -> list[tuple[int, ...]]:
        found = []
        for value in values:
            run(address, value, ctypes.addressof(out))
            found.append((*out[:3], out[3] & 0x8D5))
        return found

    regions = [region for region in engine.plan.regions if region.scoped and region.size > 128][::200]
    own = [region for region in engine.plan.regions if region.scoped and not region.shared]
    pages = {region.live & -4096 for region in own}
    end = next(page + 4096 for page in sorted(pages) if page + 4096 in pages)
    places = [region.live + at for region in regions for at in (0, 8, 13, 32, 128)]
    places = [at for at in places if 0 < at % 4096 < 3500 and at & -4096 in pages]
    assert len(places) > 30
    values = [0, 1, 5, 0x7F, 0x80, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]

    def with_own(places: list[int]) -> dict[int, list[int]]:
        return {at: [*values, here := ctypes.c_uint64.from_address(at).value, here + 1] for at in places}

    within, across = with_own(places), with_own([end - 3, end - 11, end - 259])
    for instruction in codes.split():
        load(instruction)
        for given in (within, across):
            expected = [results(*each) for each in given.items()]
            with audit() as seen:
                assert [results(*each) for each in given.items()] == expected, instruction
            reads = sum(map(len, given.values()))
            assert seen.neighbours + seen.entitled >= reads
            assert given is across or seen.steps == (0 if by_hand else reads), (instruction, seen)


@alone
def test_protections_and_handlers_are_put_back_whatever_happens_in_the_block() -> None:
    attach()
    before, were = page_table(), handlers()
    assert any("rw" in protection for *_, protection in before)
    for _ in range(3):
        with pytest.raises(KeyError, match="of the block"), audit() as seen:  # noqa: PT012  # the block is it
            assert [p for *_, p in page_table() if p == "---p"]
            assert handlers() != were
            during = page_table()
            with pytest.raises(AuditError, match="another audit is on") as caught, audit():
                pass
            assert "nothing was changed" in str(caught.value)
            assert page_table() == during
            raise KeyError("of the block")
        assert seen.pages > 100
        assert page_table() == before
        assert handlers() == were


@alone
def test_handlers_stay_while_other_threads_live_and_go_after_that() -> None:
    heard = []
    signal.signal(signal.SIGTRAP, lambda *arguments: heard.append(arguments[0]))
    attach()
    before, were = page_table(), handlers()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, daemon=True)
    thread.start()
    for round in (1, 2):
        with audit() as seen, OptionContext({"unroll-count": 4}):
            assert unrolled() == 4
        assert seen.accesses == []
        assert seen.neighbours > 10
        assert page_table() == before
        assert handlers() != were
        signal.raise_signal(signal.SIGTRAP)
        assert len(heard) == round
    stop.set()
    thread.join()
    while len(list(pathlib.Path("/proc/self/task").iterdir())) > 1:
        pass
    with audit():
        pass
    assert page_table() == before
    assert handlers() == were


@alone
def test_a_thread_that_blocks_faults_is_a_reason_not_to_start() -> None:
    attach()
    before = page_table()
    ready, stop = threading.Event(), threading.Event()

    def block() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})
        ready.set()
        stop.wait()

    thread = threading.Thread(target=block, daemon=True)
    thread.start()
    ready.wait()
    with pytest.raises(AuditError, match="blocks SIGSEGV"), audit():
        pass
    assert page_table() == before
    stop.set()
    thread.join()
    with audit():
        pass
    assert page_table() == before


@alone
def test_threads_in_no_context_compile_unharmed_and_unreported_even_if_they_block_the_trap() -> None:
    job = Job(CALLS, "default<O1>", triple=X86, emit="ir")
    expected = compile_job(job)
    attach()
    before = page_table()
    with audit() as seen:

        def outside() -> None:
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTRAP})
            for _ in range(3):
                assert compile_job(job) == expected
            assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) >= {signal.SIGTRAP}

        in_threads([outside])
    assert seen.accesses == []
    assert seen.entitled > 100
    assert page_table() == before


# Faults and traps that are not the audit's, and how a process dies of them.
DEATHS: dict[str, tuple[Callable[[int, int], object], signal.Signals]] = {
    "a bad address": (lambda *_: ctypes.string_at(16), signal.SIGSEGV),
    "a write": (lambda readonly, _: ctypes.memset(readonly, 1, 1), signal.SIGSEGV),
    "a jump": (lambda _, writable: ctypes.CFUNCTYPE(None)(writable)(), signal.SIGSEGV),
    "SIGSEGV sent": (lambda *_: os.kill(os.getpid(), signal.SIGSEGV), signal.SIGSEGV),
    "SIGTRAP sent": (lambda *_: os.kill(os.getpid(), signal.SIGTRAP), signal.SIGTRAP),
}


def fault_at(fault: str, during: bool, traced: bool, readonly: int, writable: int) -> None:
    if traced:
        faulthandler.enable()
    cause, _ = DEATHS[fault]
    with audit():
        if during:
            cause(readonly, writable)
            raise AssertionError("it survived")
    cause(readonly, writable)


@alone
def test_any_other_fault_ends_the_process_as_ever() -> None:
    """During an audit and after it, by default and under a handler of Python's: each in a child of fork."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    regions = [region for region in attach().plan.regions if region.scoped and not region.shared]
    table = page_table()
    readonly = next(r.live for r in regions if any(b <= r.live < e and p == "r--p" for b, e, p in table))
    writable = next(r.live for r in regions if any(b <= r.live < e and p == "rw-p" for b, e, p in table))
    wrong = []
    for fault, during, traced in itertools.product(DEATHS, (False, True), (False, True)):
        _, death = DEATHS[fault]
        status, printed = end_of_child(partial(fault_at, fault, during, traced, readonly, writable))
        told = "Fatal Python error: Segmentation fault" in printed
        if (status, told) != (-death, traced and death == signal.SIGSEGV):
            wrong.append((fault, during, traced, status, printed))
    assert not wrong, wrong


def end_of_child(work: Callable[[], object]) -> tuple[int, str]:
    """The status of a child of fork, which may die, and what it printed."""
    with tempfile.TemporaryFile() as file:
        if not (child := os.fork()):
            os.dup2(file.fileno(), 2)
            run_and_end(work)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        file.seek(0)
        return status, file.read().decode()


@alone
def test_signals_that_are_ignored_or_handled_stay_so() -> None:
    seen = []
    signal.signal(signal.SIGSEGV, signal.SIG_IGN)
    signal.signal(signal.SIGTRAP, lambda *arguments: seen.append(arguments[0]))
    attach()
    with audit():
        os.kill(os.getpid(), signal.SIGSEGV)
        os.kill(os.getpid(), signal.SIGTRAP)
    os.kill(os.getpid(), signal.SIGSEGV)
    assert seen == [signal.SIGTRAP]
    assert signal.getsignal(signal.SIGSEGV) == signal.SIG_IGN
