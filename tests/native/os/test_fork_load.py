"""Forks under load: threads attach, detach, enter, leave, compile, record and bind, while the main one forks.

Each child does three of these things by itself. gdb looks at a child that hangs, which tells the locks of
optctx from those of LLVM, llvmlite and the C library.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from llvmlite import binding as llvm
from llvmlite.binding import ffi

import optctx
from optctx import OptionContext, emit_object, info, record, registry, run_passes, unbind, watch
from tests.support.alone import alone_with
from tests.support.forking import fork, run_and_end
from tests.support.ir_texts import COUNTED, UNROLL, X86
from tests.support.runs import stores
from tests.support.scopes import meanwhile

LIMIT = 120.0  # seconds that a child may take; most take 0.1
ASLEEP = 2.0  # seconds in a row: a child has one thread, which waits so long for nothing but a lock


def module() -> Any:
    return llvm.parse_assembly(COUNTED, llvm.create_context())


# What threads do


def attach_and_detach() -> None:
    optctx.attach()
    # Other threads may be inside, or start and so block signals.
    with contextlib.suppress(optctx.ScopeError, optctx.UnsupportedImageError):
        optctx.detach()


def enter_and_leave() -> None:
    made = OptionContext(unroll_count=random.randrange(1, 9))
    for _ in range(20):
        with made, OptionContext(unroll_count=3, base="inherit", unread=random.choice(["warn", "ignore"])):
            pass


def compile_in_scope() -> None:
    made = module()
    machine = llvm.Target.from_triple(X86).create_target_machine()
    with OptionContext(unroll_count=4):
        run_passes(made, UNROLL)
        emit_object(made, machine)
    assert stores(made) == 4


def record_reads() -> None:
    made = module()
    with OptionContext(unroll_count=2), record() as log:
        run_passes(made, UNROLL)
    assert log.reads["unroll-count"].values == (2,)


def bind_and_run() -> None:
    with llvm.create_context() as llvm_context:
        made = llvm.parse_assembly(COUNTED, llvm_context)
        OptionContext(unroll_count=8).bind(llvm_context)
        run_passes(made, UNROLL)
        assert stores(made) == 8
        unbind(llvm_context)
        made.close()


def watch_values() -> None:
    with watch(lambda event: None):
        llvm.set_option("", "-inline-threshold=225")


LOADS = (attach_and_detach, enter_and_leave, compile_in_scope, record_reads, bind_and_run, watch_values)


def in_child() -> None:
    """Something of everything that optctx has a lock for."""
    assert info()["active_scopes"] == 0
    assert registry()["rng-seed"].value == 0
    for work in random.sample(LOADS, 3):
        work()


# Forking and looking


def wait_for(pid: int) -> int | None:
    """The status of a child, or None if it hangs."""
    begun = awake = time.monotonic()
    pause = 0.001
    while (now := time.monotonic()) - begun < LIMIT and now - awake < ASLEEP:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        with open(f"/proc/{pid}/stat") as file:
            if file.read().rpartition(")")[2].split()[0] != "S":
                awake = now
        time.sleep(pause)
        pause = min(pause * 1.5, 0.02)
    return None


def native_stack(pid: int) -> str:
    """The frames of all threads; nothing without gdb: Python's own stack has to do."""
    if shutil.which("gdb") is None:
        return ""
    command = ["gdb", "-p", str(pid), "-batch", "-ex", "thread apply all bt 30"]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return "\n".join(line for line in printed.splitlines() if re.match(r"#\d", line))


def whose(native: str, python: str) -> str:
    """Whose lock a child waits for, by what the innermost frames outside the C library and Python are of."""
    for line in native.splitlines():
        if "_native" in line or "optctx::" in line:
            return "optctx"
        if "libllvmlite" in line:
            return "others"
    innermost = next((line for line in python.splitlines() if line.lstrip().startswith("File")), "")
    # Without gdb a call of LLVM from there can wait for a lock of LLVM's as well.
    return "optctx" if "/optctx/" in innermost and "/optctx/hosts/" not in innermost else "others"


def fork_once() -> tuple[str, str]:
    """Fork: "", "failed", or whose lock the child waits for, "optctx" or "others"; and the child's stacks."""
    with tempfile.TemporaryFile() as file:
        if not (pid := fork()):
            os.dup2(file.fileno(), 2)
            faulthandler.register(signal.SIGUSR1, chain=False)  # without a thread of its own
            run_and_end(in_child)
        status = wait_for(pid)
        if status == 0:
            return "", ""
        native = ""
        if status is None:
            os.kill(pid, signal.SIGUSR1)
            time.sleep(0.5)
            native = native_stack(pid)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        python = os.pread(file.fileno(), 1 << 16, 0).decode(errors="replace")
        return whose(native, python) if status is None else "failed", f"status {status}\n{python}\n{native}"


def renew_lock() -> None:
    """Free llvmlite's own lock, which any thread may hold at a fork, in a child."""
    ffi.lib._lock._lock = threading.RLock()


@pytest.mark.parametrize("forks", [12, pytest.param(10_000, marks=pytest.mark.long)])
@alone_with(seconds=11_000)
def test_forks_under_load_do_not_hang_in_locks_of_optctx(forks: int) -> None:
    """There are more forks until each thread has done its work once."""
    os.register_at_fork(after_in_child=renew_lock)
    warnings.simplefilter("ignore", UserWarning)  # unread overrides
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for work in LOADS:  # LLVM's first uses take locks that a child finds held
        work()
    rounds = dict.fromkeys(LOADS, 0)

    def load(work: Callable[[], None]) -> None:
        work()
        rounds[work] += 1
        time.sleep(random.random() * 0.004)  # so that all have their turns, and at times none is inside

    done, end = 0, time.monotonic() + 300 + forks
    with meanwhile(*(partial(load, work) for work in LOADS)):
        while done < forks or (not all(rounds.values()) and time.monotonic() < end):
            became, stacks = fork_once()
            assert became in ("", "others"), stacks
            done += 1
            time.sleep(random.random() * 0.005)
    assert all(rounds.values()), rounds
