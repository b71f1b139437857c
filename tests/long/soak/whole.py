"""Operations that reach the whole process, or other processes."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from types import FrameType

from llvmlite import binding
from llvmlite.binding import ffi

import optctx
from optctx import OptionContext, ScopeError, current, drift, propagating
from optctx.children.limits import Limits
from optctx.compiling import Job, Result, compile_job, llvm_pool
from tests.long.soak.actor import Actor, Operation, WrongError, context_of, expect
from tests.long.soak.answers import job
from tests.long.soak.faulty import FAULTS, run_with_fault
from tests.long.soak.scoping import exceptions, generators, lookups, recording, scopes
from tests.long.soak.travelling import cached
from tests.support.forking import run_and_end

__all__ = [
    "attach_cycles",
    "drifting",
    "exclusive",
    "faults",
    "forks",
    "handlers",
    "interrupts",
    "processes",
    "watching",
]

CHILD_SECONDS = 60.0
WITHOUT_EFFECT = "hexagon-gen-mux-threshold"  # of the modules here
BESIDE: tuple[Operation, ...] = (scopes, lookups, exceptions, generators, recording, cached)


class InterruptError(Exception):
    """What a signal handler raises."""


def attach_cycles(actor: Actor) -> None:
    """Detaching fails while other threads are inside scopes; otherwise the next use attaches again."""
    for _ in range(3):
        with contextlib.suppress(ScopeError):
            optctx.detach()
        actor.check()
    scopes(actor)


def watching(actor: Actor) -> None:
    events: list[object] = []
    with optctx.watch(events.append):
        binding.set_option("", f"-{WITHOUT_EFFECT}={actor.rng.randrange(1 << 30)}")
        scopes(actor)
    expect(bool(events), "a watcher heard of nothing")


def drifting(actor: Actor) -> None:
    binding.set_option("", f"-{WITHOUT_EFFECT}={actor.rng.randrange(1, 1 << 30)}")
    expect(WITHOUT_EFFECT in drift(), "an option was set and has not drifted")


def exclusive(actor: Actor) -> None:
    options = actor.options()
    with OptionContext({**options, "rng-seed": "77"}, process_wide="exclusive"):
        actor.check(options)
    actor.check()


def processes(actor: Actor) -> None:
    """A pool of processes, which attach by themselves."""
    options, name = actor.options(), actor.module()
    with context_of(options), propagating(ProcessPoolExecutor(1, mp_context=get_context("spawn"))) as pool:
        result: Result = pool.submit(compiled, job(name)).result()
    actor.judge(result, name, options)


def compiled(wanted: Job) -> Result:
    return compile_job(wanted)


def forks(actor: Actor) -> None:
    """A child of fork does the same for a moment. llvmlite's lock is held, as stock programs must."""
    if actor.child:
        return
    with ffi.lib._lock:
        pid = os.fork()
    if not pid:
        run_and_end(lambda: in_child(actor))
    status = waited(pid)
    expect(status == 0, f"a child of fork ended with status {status}")
    actor.check()


def in_child(actor: Actor) -> None:
    actor.child = actor.main = True
    for _ in range(actor.rng.randrange(1, 5)):
        actor.rng.choice(BESIDE)(actor)


def waited(pid: int) -> int:
    """Its status; raises WrongError for a hang, after a dump of the child's threads."""
    deadline = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.005)
    os.kill(pid, signal.SIGUSR1)  # faulthandler
    time.sleep(1)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise WrongError(f"a child of fork hangs for {CHILD_SECONDS:g} s")


def handlers(actor: Actor) -> None:
    """Signal handlers that raise nothing, in the middle of another operation."""
    if not actor.main or actor.child:
        return
    failures: list[BaseException] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if actor.child or ffi.lib._lock._lock._is_owned():  # whoever closed the gate may wait for this lock
            return
        actor.child = True  # no handler inside a handler
        try:
            with context_of(options := actor.options(), base="defaults"):
                expect(dict(current().overrides).keys() == options.keys(), "a handler is in another scope")
                if actor.rng.random() < 0.2:
                    gc.collect()
        except BaseException as error:  # for the operation
            failures.append(error)
        finally:
            actor.child = False

    signal.signal(signal.SIGPROF, handle)
    signal.setitimer(signal.ITIMER_PROF, 0.002, 0.002)
    try:
        actor.rng.choice(BESIDE)(actor)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, signal.SIG_IGN)  # one may be under way still, to another thread
    if failures:
        raise failures.pop()


def interrupts(actor: Actor) -> None:
    """A signal handler that raises anywhere in another operation; afterwards no scope is left entered."""
    if not actor.main or actor.child:
        return

    def handle(number: int, frame: FrameType | None) -> None:
        if is_in_llvmlites_lock(frame):
            signal.setitimer(signal.ITIMER_REAL, 0.0001)
        else:
            raise InterruptError

    before = signal.signal(signal.SIGALRM, handle)
    try:
        signal.setitimer(signal.ITIMER_REAL, actor.rng.uniform(0.0001, 0.02))
        try:
            actor.rng.choice(BESIDE)(actor)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except InterruptError:
        pass
    except ScopeError as error:  # a generator still held a scope inside the one that the exception left
        if not isinstance(error.__context__, InterruptError):
            raise
    finally:
        signal.signal(signal.SIGALRM, before)
    actor.check()


def is_in_llvmlites_lock(frame: FrameType | None) -> bool:
    """Whether llvmlite is taking or giving up its lock, which an exception would leave locked for good."""
    while frame is not None:
        if frame.f_code.co_filename == ffi.__file__:
            return True
        frame = frame.f_back
    return False


def faults(actor: Actor) -> None:
    """Calls of the system that fail, in a process of its own."""
    if actor.child:
        return
    name, seed = actor.rng.choice(FAULTS), actor.rng.randrange(1 << 30)
    given = (name, seed, actor.shared.answers)
    done = llvm_pool().call(run_with_fault, *given, gives=type(None), limits=Limits(CHILD_SECONDS))
    expect(not done.error and done.death is None, f"{name} with seed {seed}: {done}")
