"""Pools: whatever a child, its server or the caller does, each call has one end, and nothing is left."""

from __future__ import annotations

import operator
import os
import pathlib
import resource
import signal
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from types import FrameType
from typing import Any

import pytest

from optctx.children.death import Death
from optctx.children.messages import Limits
from optctx.children.pool import Pool
from optctx.errors import OptctxError
from tests.optctx.children import calls
from tests.support.alone import alone
from tests.support.processes import SECONDS, children_of, in_child, of_session, wait_for
from tests.support.rows import rows

LATE = Limits(seconds=0.5)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(int, 40) as pool:
        yield pool


def test_values_travel_and_the_first_argument_is_what_was_prepared(pool: Pool) -> None:
    large = os.urandom(1 << 22)  # more than a pipe holds, there and back
    given = ("a text \u2713", large, {"a": [1.0, 2.5], "": []})
    assert pool.call(operator.add, 2, gives=int).value == 42
    assert pool.call(calls.same, *given, gives=tuple[str, bytes, dict[str, list[float]]]).value == given
    assert pool.call(calls.same, None, b"", {}, gives=list[Any]).value == [None, b"", {}]
    done = pool.call(calls.refused, gives=int)
    assert (done.error, done.death, done.value) == ("LLVM refuses it", None, None)
    assert pool.call(calls.same, "\udcff", b"", {}, gives=list[Any]).error.endswith("not valid Unicode")
    found = [pool.call(calls.process, gives=tuple[int, int]).value for _ in range(2)]
    assert len(set(found)) == 2
    assert {parent for _, parent in filter(None, found)} == {pool.process}


ENDS: dict[Callable[..., Any], tuple[str, str, str]] = {  # how, words, of a compilation
    calls.crash: ("ended", "killed by SIGSEGV", "crashed"),
    calls.exits: ("ended", "LLVM ERROR: odd", "crashed"),
    calls.hang: ("timed out", "took longer than 0.5 s", "timed out"),
    calls.no_memory: ("ended", "exited with status 1: out of memory", "out of memory"),
    calls.broken: ("lost", "LookupError: nothing \\udcff there", "lost"),
    str: ("nonsense", "it wrote to a descriptor that is not its own", "killed"),
}


def test_each_end_is_a_value_that_disturbs_no_other_call(pool: Pool) -> None:
    """Of calls by as many threads at once."""

    def one(place: int) -> object:
        function = list(ENDS)[place // 2]
        done = pool.call(function, gives=int, limits=LATE if function is calls.hang else None)
        assert pool.call(operator.add, place, gives=int).value == 40 + place
        assert done.value is None
        assert done.death is not None
        return done.death.how, str(done.death), done.death.end

    with ThreadPoolExecutor(2 * len(ENDS)) as threads:
        found = list(threads.map(one, range(2 * len(ENDS))))
    assert found[::2] == found[1::2] == list(ENDS.values())


def framed(body: bytes) -> bytes:
    return struct.pack("<Q", len(body)) + body


NONSENSE = {
    "an endless frame": b"\xff" * 4096,
    "no message": framed(b"\xc1" * 40),
    "an answer too many": framed(b"\x93\xa4gave\x01\xa0"),
    "nested without end": framed(b"\x91" * 1_000_000),
    "another type": framed(b"\x93\xa4gave\xa1x\xa0") + framed(b"\x80"),
}


@rows("name", NONSENSE)
def test_a_child_that_writes_nonsense_is_killed_and_that_is_its_death(name: str, pool: Pool) -> None:
    done = pool.call(calls.write, NONSENSE[name], gives=int, limits=Limits(SECONDS))
    assert done.death is not None, done
    assert done.death.how == "nonsense"
    assert pool.call(operator.add, 2, gives=int).value == 42


def test_children_run_where_the_caller_is_now(
    pool: Pool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> tuple[str, str | None] | None:
        return pool.call(calls.place, "OPTCTX_PLACE", gives=tuple[str, str | None]).value

    monkeypatch.setenv("OPTCTX_PLACE", "here")
    monkeypatch.chdir(tmp_path)
    assert found() == (str(tmp_path), "here")
    monkeypatch.undo()
    assert found() == (os.getcwd(), None)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert pool.call(operator.add, 1, gives=int).value == 41


@alone
def test_limits_are_never_above_those_of_the_caller() -> None:
    def most(pool: Pool, memory: int | None) -> int:
        return pool.call(calls.address_space_limit, gives=int, limits=Limits(memory=memory)).value or 0

    with Pool(int, 1) as pool:
        assert most(pool, None) == resource.getrlimit(resource.RLIMIT_AS)[0]
    own = 3_000_000 << 10
    resource.setrlimit(resource.RLIMIT_AS, (own, own))
    with Pool(int, 1) as pool:
        assert most(pool, 1 << 40) == own
        assert most(pool, 1 << 20) < own


def test_a_server_that_cannot_prepare_says_why() -> None:
    with Pool(calls.refuse) as refused:
        with pytest.raises(OptctxError, match="it cannot be prepared"):
            _ = refused.process
        assert refused.call(operator.add, 1, gives=int).death is not None
    with Pool(calls.give_up) as ended:
        done = ended.call(operator.add, 1, gives=int)
        assert str(done.death).startswith("the helper process ended with status 3 before it answered")
        assert "LLVM ERROR: odd" in str(done.death)


class Interrupt(Exception):  # noqa: N818  as KeyboardInterrupt
    pass


def interrupt(_: int, frame: FrameType | None) -> None:
    """Raise. Python prints and drops what is raised in a finaliser: there, come again a millisecond later."""
    while frame is not None:
        if frame.f_code.co_name in ("__del__", "_remove"):  # the other is a WeakSet's
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            return
        frame = frame.f_back
    raise Interrupt


def test_a_wait_that_ends_early_ends_the_child(pool: Pool) -> None:
    call = pool.submit(calls.hang, gives=int)
    wait_for(lambda: bool(children_of(pool.process)))
    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        with pytest.raises(Interrupt):
            call.result()
    finally:
        signal.signal(signal.SIGALRM, handler)
    assert call.result().death == Death("ended", -signal.SIGKILL, "")


def test_a_forked_copy_of_the_caller_leaves_the_pool_alone(pool: Pool) -> None:
    call = pool.submit(calls.wait, gives=int)

    def work() -> None:
        call.kill()
        lost = pool.call(operator.add, 1, gives=int).death
        assert lost is not None
        assert lost.how == "lost"
        pool.close()
        with Pool(int, 1) as own:
            assert own.call(operator.add, 1, gives=int).value == 2

    in_child(work)
    assert pool.call(operator.add, 2, gives=int).value == 42
    assert call.done() is None


CALLER = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from optctx.children.pool import Pool
from tests.optctx.children import calls
from tests.support.processes import children_of, wait_for

step = sys.argv[1]
pool = Pool(int, 1)
if step != "starting":
    under_way = [pool.submit(calls.hang, gives=int) for _ in range(2)]
    wait_for(lambda: sum(len(children_of(child)) for child in children_of(pool.process)) == 2)
if step == "stopped":  # the kernel continues it, as nothing else could then
    os.kill(pool.process, signal.SIGSTOP)
    os.waitid(os.P_PID, pool.process, os.WSTOPPED)
print("there", flush=True)
try:
    while True:  # a signal that comes before the system call does not end a long one
        time.sleep(0.1)
finally:
    if step == "closing":
        pool.close()
"""
ENDED = [  # SIGINT is one that Python answers, and the pool with it
    *((step, signal.SIGKILL) for step in ("starting", "hanging", "stopped")),
    *((step, signal.SIGINT) for step in ("starting", "hanging", "closing")),
    ("hanging", signal.SIGTERM),
]


def test_nothing_outlives_the_caller() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    callers = [
        subprocess.Popen(
            [sys.executable, "-c", CALLER, step],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        for step, _ in ENDED
    ]
    for caller, (step, number) in zip(callers, ENDED, strict=True):
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"there\n", step
        os.killpg(caller.pid, number)  # as a terminal does
        caller.stdout.close()
    for caller, (step, number) in zip(callers, ENDED, strict=True):
        assert caller.wait(SECONDS) in (-number, 1, 130), step
        wait_for(lambda caller=caller: not of_session(caller.pid))  # type: ignore[misc]


@pytest.mark.parametrize("moments", [8, pytest.param(40, marks=pytest.mark.long)])
@alone  # pools of other tests may be ending
def test_an_interrupt_at_any_moment_leaves_no_process_and_no_descriptor(moments: int) -> None:
    def work() -> None:
        with Pool(int, 1) as pool:
            hangs = pool.submit(calls.hang, gives=int)  # kept: an interrupt of a finaliser is lost
            pool.call(operator.add, 1, gives=int)
        del hangs

    work()
    before = len(os.listdir("/proc/self/fd")), children_of(os.getpid())
    # Where an interrupt comes between the making of a file and its name, the file is closed with a warning.
    warnings.simplefilter("ignore", ResourceWarning)
    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for place in range(moments):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.004 + place * 0.32 / moments)
                work()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except Interrupt:
                pass
    finally:
        signal.signal(signal.SIGALRM, handler)
    wait_for(lambda: (len(os.listdir("/proc/self/fd")), children_of(os.getpid())) == before)
