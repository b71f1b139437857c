"""`record()` and `unread` work by faults: those that are not theirs go where they went before.

Everything runs in processes of its own.
"""

from __future__ import annotations

import signal
import textwrap

import pytest
from support import python_process, run_python

pytestmark = pytest.mark.redirected

START = """
import ctypes, faulthandler, os, resource, signal, threading
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import optctx
from llvmlite import binding
from optctx import OptctxError, OptionContext, UnsupportedImageError, record
from optctx.fresh.job import initialise_targets
from support import COUNTED, in_threads, unrolled

def four(**more):
    return OptionContext({"unroll-count": 4}, base="defaults", **more)

def blocked(work):
    "Runs it on a thread that blocks SIGSEGV."
    def run():
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})
        work()
    in_threads([run])

def handler():
    "What sigaction(2) says of SIGSEGV: handler, mask, flags."
    action = ctypes.create_string_buffer(152)
    assert ctypes.CDLL(None).sigaction(signal.SIGSEGV, None, action) == 0
    flags = int.from_bytes(action.raw[136:140], "little") & ~0x04000000  # without the C library's own
    return action.raw[:16], flags

def refused(work, words):
    try:
        work()
    except OptctxError as error:
        assert words in str(error), str(error)
    else:
        raise SystemError("not refused")

"""


def script(text: str) -> str:
    return START + textwrap.dedent(text)


# Faults that are not those of a read

FAULTS = {
    "a bad address": "ctypes.string_at(16)",
    "sent": "os.kill(os.getpid(), signal.SIGSEGV)",
}
BLOCKS = {"record": "record()", "unread": 'four(unread="warn")'}


@pytest.mark.parametrize("traced", [False, True], ids=["default action", "faulthandler"])
@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("fault", FAULTS)
def test_any_other_fault_ends_the_process_as_ever(fault: str, block: str, traced: bool) -> None:
    done = python_process(
        "-c",
        script(f"""
        if {traced}:
            faulthandler.enable()
        with {BLOCKS[block]}:
            unrolled()
            {FAULTS[fault]}
        print("still alive")
        """),
    )
    assert (done.returncode, done.stdout) == (-signal.SIGSEGV, "")
    assert done.stderr.count("Fatal Python error: Segmentation fault") == traced
    assert ("most recent call first" in done.stderr) == traced  # from Python 3.14 on also of the C stack


def test_handlers_are_as_before_afterwards_whatever_they_were() -> None:
    run_python(
        script("""
        heard = []
        kinds = [
            lambda: signal.signal(signal.SIGSEGV, lambda *arguments: heard.append(arguments[0])),
            lambda: signal.signal(signal.SIGSEGV, signal.SIG_IGN),
            lambda: signal.signal(signal.SIGSEGV, signal.SIG_DFL),
            lambda: faulthandler.enable(),
        ]
        optctx.attach()
        for install in kinds:
            install()
            before = handler()
            for _ in range(2):
                with record() as log, four(unread="error"), record():
                    assert handler() != before
                    assert unrolled() == 4
                    if install is kinds[0]:
                        signal.raise_signal(signal.SIGSEGV)
                        assert heard.pop() == signal.SIGSEGV
                    if install is kinds[1]:
                        signal.raise_signal(signal.SIGSEGV)
                assert log.reads["unroll-count"].value == 4
                assert handler() == before
        """)
    )


# Handlers that come later

LATER = {
    "faulthandler": "faulthandler.enable()",
    "a handler in Python": "signal.signal(signal.SIGSEGV, print)",
    "the default action": "signal.signal(signal.SIGSEGV, signal.SIG_DFL)",
    "a blocked signal": "signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGSEGV})",
}


@pytest.mark.parametrize("later", LATER)
def test_who_takes_the_signal_over_inside_a_block_ends_the_recording_and_not_the_process(later: str) -> None:
    run_python(
        script(f"""
        with record() as outer:
            with record() as log:
                assert unrolled() == 1
                assert log.reads["unroll-count"].value == 0
                {LATER[later]}
                assert unrolled() == 1
                refused(lambda: log.reads, "not everything that LLVM read was recorded")
                assert unrolled() == 1
                with four():
                    assert unrolled() == 4
            for name in ("reads", "unread"):
                refused(lambda: getattr(log, name), "SIGSEGV")
            refused(log.fingerprint, "SIGSEGV")
        refused(lambda: outer.reads, "not everything")
        assert unrolled() == 1
        """)
    )


@pytest.mark.parametrize("later", LATER)
def test_and_what_was_unread_is_not_told_then(later: str) -> None:
    run_python(
        script(f"""
        context = four(unread="error")
        with context:
            {LATER[later]}
            assert unrolled() == 4
            if {later in ("faulthandler", "a handler in Python")}:
                refused(four(unread="error").__enter__, "cannot tell what LLVM reads")
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {{signal.SIGSEGV}})
        faulthandler.disable()
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        with context:
            assert unrolled() == 4
        refused(lambda: context.run(int), "did not read")
        """)
    )


def test_a_failing_block_is_not_masked_by_what_was_lost() -> None:
    run_python(
        script("""
        try:
            with record() as log:
                faulthandler.enable()
                unrolled()
                raise KeyError
        except KeyError:
            refused(lambda: log.reads, "not everything")
        """)
    )


# Threads that block the signal


def test_a_thread_that_blocks_the_signal_is_refused_and_others_go_on() -> None:
    run_python(
        script("""
        entered, stop = threading.Event(), threading.Event()
        context = four(unread="error")

        def inside():
            with record(), context:
                entered.set()
                stop.wait()
                assert unrolled() == 4

        thread = threading.Thread(target=inside)
        for _ in range(2):  # first while others are inside, then alone
            thread.start() if not entered.is_set() else None
            entered.wait()
            blocked(lambda: refused(record().__enter__, "blocks SIGSEGV"))
            blocked(lambda: refused(context.__enter__, "blocks SIGSEGV"))
            blocked(lambda: unrolled() == 1 or 1 / 0)
            stop.set()
            thread.join()
        """)
    )


def test_so_is_a_run_on_it_of_a_module_that_is_bound() -> None:
    run_python(
        script("""
        from runs import RUNS, machine, stores
        initialise_targets()
        with binding.create_context() as llvm_context:
            context = four(unread="error")
            context.bind(llvm_context)

            def work():
                with binding.parse_assembly(COUNTED, llvm_context) as module, machine() as target:
                    for run in RUNS:
                        refused(lambda: run(module), "blocks SIGSEGV")
                        assert stores(module) == 1
                    refused(lambda: target.emit_object(module), "blocks SIGSEGV")
                    refused(lambda: target.emit_assembly(module), "blocks SIGSEGV")

            blocked(work)
            with binding.parse_assembly(COUNTED, llvm_context) as module:
                RUNS[1](module)
                assert stores(module) == 4
            optctx.unbind(llvm_context)
        assert optctx.info()["active_scopes"] == 0
        """)
    )


# Together with others that handle it


def test_an_audit_and_a_recording_at_once() -> None:
    run_python(
        script("""
        from optctx.engine.audit import audit
        with four():
            expected = unrolled()
        with record() as alone, four():
            unrolled()
        with audit() as seen, record() as log, four(unread="error"):
            assert unrolled() == expected
        assert seen.accesses == []
        assert log.reads == alone.reads
        with record() as log, audit() as seen, four():
            assert unrolled() == expected
        assert seen.accesses == [] and log.reads == alone.reads
        with record() as log, audit() as seen:
            assert unrolled() == 1  # LLVM's own storage, on protected pages
        assert seen.accesses == [] and seen.entitled > 50
        assert log.reads["unroll-count"].value == 0
        """)
    )


def test_where_threads_take_turns_nobody_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTCTX_ENGINE", "exclusive")
    run_python(
        script("""
        def block():
            with record():
                raise SystemError
        for work in (block, lambda: four(unread="warn"), lambda: four().derive(unread="error")):
            try:
                work()
            except UnsupportedImageError as error:
                assert "take turns" in str(error)
            else:
                raise SystemError
        with four(unread="ignore"):
            assert unrolled() == 4
        """)
    )
