"""How the audit lets accesses go on without a trace: memory, protections, other signals."""

from __future__ import annotations

import ctypes
import os
import pathlib
import resource
import signal
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
from tests.support.installed import needs_audit
from tests.support.ir_texts import CALLS, X86
from tests.support.processes import in_child
from tests.support.scopes import in_threads, unrolled

pytestmark = [needs_audit]


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

    def refused() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})
        with pytest.raises(AuditError, match="blocks SIGSEGV"), audit():
            pass

    in_threads([refused])
    assert page_table() == before
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


# Other causes are those of tests/optctx/reads/test_record_signals.py: its handler is of the same kind.
DEATHS: list[tuple[Callable[[int, int], object], signal.Signals]] = [
    (lambda readonly, _: ctypes.memset(readonly, 1, 1), signal.SIGSEGV),
    (lambda _, writable: ctypes.CFUNCTYPE(None)(writable)(), signal.SIGSEGV),
    (lambda *_: os.kill(os.getpid(), signal.SIGTRAP), signal.SIGTRAP),
]


@alone
def test_any_other_fault_or_trap_ends_the_process_as_ever() -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    regions = [region for region in attach().plan.regions if region.scoped and not region.shared]
    table = page_table()
    readonly = next(r.live for r in regions if any(b <= r.live < e and p == "r--p" for b, e, p in table))
    writable = next(r.live for r in regions if any(b <= r.live < e and p == "rw-p" for b, e, p in table))

    def audited(cause: Callable[[int, int], object]) -> None:
        with audit():
            cause(readonly, writable)

    for cause, death in DEATHS:
        in_child(partial(audited, cause), -death)
