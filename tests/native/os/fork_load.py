"""Forks under load: `python -m tests.native.os.fork_load --forks 10000`.

Threads attach and detach, enter and leave, compile, record and bind, while the main thread forks. Each child
does three of these things by itself. gdb looks at a child that hangs, which tells the locks of optctx from
those of LLVM, llvmlite and the C library. Prints a summary in JSON.

llvmlite's own lock, which any thread may hold at a fork, is made anew in the children.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from llvmlite import binding as llvm
from llvmlite.binding import ffi

import optctx
from optctx import OptionContext, emit_object, info, record, registry, run_passes, unbind, watch
from tests.support.forking import fork, run_and_end
from tests.support.ir_texts import COUNTED, UNROLL, X86
from tests.support.runs import stores

LIMIT = 120.0  # seconds that a child may take; most take 0.1
ASLEEP = 2.0  # seconds in a row: a child has one thread, which waits so long for nothing but a lock


@dataclass
class Summary:
    """`hangs`: children that did not end, by whose lock they waited for. `failed`: that ended badly."""

    forks: int = 0
    hangs: dict[str, int] = field(default_factory=lambda: {"optctx": 0, "others": 0})
    failed: int = 0
    rounds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(LOADS, 0))  # of each thread's work
    seconds: float = 0.0


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


LOADS: dict[str, Callable[[], None]] = {
    "attach": attach_and_detach,
    "enter": enter_and_leave,
    "compile": compile_in_scope,
    "record": record_reads,
    "bind": bind_and_run,
    "watch": watch_values,
}


def in_child() -> None:
    """Something of everything that optctx has a lock for."""
    assert info()["active_scopes"] == 0
    assert registry()["rng-seed"].value == 0
    for work in random.sample([*LOADS.values()], 3):
        work()


# Forking and looking


def fork_once(summary: Summary) -> None:
    with tempfile.TemporaryFile() as file:
        if not (pid := fork()):
            os.dup2(file.fileno(), 2)
            faulthandler.register(signal.SIGUSR1, chain=False)  # without a thread of its own
            run_and_end(in_child)
        summary.forks += 1
        status = wait_for(pid)
        if status == 0:
            return
        native = ""
        if status is None:
            os.kill(pid, signal.SIGUSR1)
            time.sleep(0.5)
            native = native_stack(pid)
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        python = os.pread(file.fileno(), 1 << 16, 0).decode(errors="replace")
        if status is None:
            summary.hangs[whose(native, python)] += 1
        else:
            summary.failed += 1
        print(f"status {status}", python[:3000], native[:9000], sep="\n", file=sys.stderr)


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


def renew_lock() -> None:
    """llvmlite's own lock is free in a child."""
    ffi.lib._lock._lock = threading.RLock()


def load(name: str, summary: Summary, stop: threading.Event) -> None:
    while not stop.is_set():
        LOADS[name]()
        summary.rounds[name] += 1
        time.sleep(random.random() * 0.004)  # so that all have their turns, and nobody is inside now and then


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forks", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--hangs", type=int, default=5, help="in locks of optctx, which are enough")
    given = parser.parse_args()
    os.register_at_fork(after_in_child=renew_lock)
    warnings.simplefilter("ignore", UserWarning)  # unread overrides
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for work in LOADS.values():  # LLVM's first uses take locks that a child finds held
        work()
    summary, stop = Summary(), threading.Event()
    threads = [threading.Thread(target=load, args=(name, summary, stop), daemon=True) for name in LOADS]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    while (
        (summary.forks < given.forks or not all(summary.rounds.values()))
        and time.monotonic() - begun < given.seconds
        and summary.hangs["optctx"] < given.hangs
    ):
        fork_once(summary)
        time.sleep(random.random() * 0.005)
    stop.set()
    for thread in threads:
        thread.join(60)
    summary.seconds = round(time.monotonic() - begun, 1)
    print(json.dumps(vars(summary)))


if __name__ == "__main__":
    main()
