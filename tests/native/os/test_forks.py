"""Children of a threaded process: they wait for no thread that they do not have, and find nothing half-done.

What could hang runs in a process of its own.
"""

from __future__ import annotations

import os
import sys
import threading
from functools import partial
from types import FrameType

import pytest

from optctx import OptionContext, _native, attach
from optctx.compiling import FreshProcess, Job
from tests.support.alone import alone
from tests.support.forking import fork
from tests.support.library_code import LLVMLITE
from tests.support.processes import SECONDS, in_child, wait_until_asleep
from tests.support.scopes import beside, meanwhile, unrolled


@pytest.mark.parametrize("step", ["_attach", "make_plan"])
@alone
def test_a_fork_during_the_first_attach(step: str) -> None:
    """It waits for what attaching has begun."""
    begun = threading.Event()
    forked: list[int] = []
    seen: list[list[int]] = []

    def work() -> None:
        with OptionContext(unroll_count=4):
            assert unrolled() == 4
        assert unrolled() == 1

    def on_call(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_name == step and "optctx" in frame.f_code.co_filename:
            sys.setprofile(None)
            begun.set()
            wait_until_asleep(os.getpid())  # the main thread
            seen.append(forked.copy())

    def attach_slowly() -> None:
        sys.setprofile(on_call)
        attach()

    os.register_at_fork(after_in_parent=lambda: forked.append(1))
    with beside(attach_slowly):
        assert begun.wait(SECONDS)
        in_child(work)
    assert seen == [[]]  # not before this step was done
    work()


@alone
def test_forks_while_other_threads_lock_what_they_compile() -> None:
    compile_alone = partial(_native.compile_alone, LLVMLITE)

    def lock() -> None:
        compile_alone(1, 2, None, int)  # the addresses of an LLVMContext and of a machine

    def work() -> None:
        compile_alone(1, 0, None, compile_alone, 1, 3, None, compile_alone, 2, 0, None, int)
        assert _native.held()["locks"] == kept

    with meanwhile(*[lock] * 3):
        kept = 0
        for _ in range(15):
            in_child(work)
        kept = 1
        compile_alone(3, 0, None, in_child, work)  # the child goes on holding what it holds
    assert _native.held()["locks"] == 0


@alone
def test_a_fresh_process_stays_the_parents() -> None:
    job = Job("define void @f() { ret void }", "default<O1>", emit="ir")
    with FreshProcess() as fresh:
        assert fresh.compile(job).error is None
        (go, ready), (end, lives) = os.pipe(), os.pipe()
        if not (pid := fork()):  # lives on while the parent ends its helper
            assert fresh.compile(job).error is None  # by a helper of its own
            os.close(lives)
            os.write(ready, b"x")
            os.read(end, 1)
            os._exit(0)
        assert os.read(go, 1) == b"x"
        assert fresh.compile(job).error is None
    assert os.waitpid(pid, os.WNOHANG) == (0, 0)  # the helper ended although the child lives
    os.close(lives)
    os.waitpid(pid, 0)
