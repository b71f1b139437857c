"""A server or a child is killed or stopped at any moment: each call ends soon, and no process is left."""

from __future__ import annotations

import functools
import os
import pathlib
import select
import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from optctx.children import pool as pools
from optctx.children.crowd import Crowd
from optctx.children.messages import Limits
from optctx.children.pool import Done, Pool
from optctx.compiling import FreshProcess, Job, llvm_pool
from optctx.errors import EndedEarlyError
from tests.optctx.children import calls
from tests.support.alone import alone
from tests.support.endless import LIST, SCALED, endless, reached
from tests.support.forking import fork
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import SECONDS, children_of, of_session, too_long, wait_for

JOB = Job(SCALE, triple=X86)
LARGE = b"x" * (4 << 20)  # more than a socket takes at once
KILLED = "the helper process ended with status -9 before it answered"


@pytest.fixture(scope="module")
def soon() -> float:
    """Seconds that starting a server and a call never takes."""

    def work() -> None:
        with Pool(calls.base, 1) as pool:
            assert pool.call(calls.add, 1, gives=int).value == 2

    return too_long(work)


def in_time(soon: float, work: Callable[[], Any]) -> Any:
    begun = time.monotonic()
    found = work()
    assert time.monotonic() - begun < soon
    return found


def check_lost(done: Done[Any]) -> None:
    assert done.death is not None
    assert (done.death.how, str(done.death)) == ("lost", KILLED)


def leave_nothing(session: int) -> None:
    """Of the processes of this session, only this one goes on."""
    wait_for(lambda: len(of_session(session)) == 1)


AT_FORK = ["before", "after_in_parent", "after_in_child"]


@pytest.mark.parametrize("moment", AT_FORK)
@alone
def test_a_server_that_is_killed_while_it_forks(moment: str) -> None:
    for _ in range(3):
        with Pool(calls.at_fork, moment, int(signal.SIGKILL)) as pool:
            work = functools.partial(pool.call, calls.wait, gives=int, limits=Limits(SECONDS))
            check_lost(in_time(SECONDS / 10, work))
    leave_nothing(os.getpid())


@pytest.mark.parametrize("moment", AT_FORK)
@alone
def test_a_server_that_is_stopped_while_it_forks(moment: str) -> None:
    """It is killed. So is one that does not tell of the end of a child that has answered."""
    pools.GRACE = 0.2
    for function, given in ((calls.wait, ()), (calls.same, (None, LARGE, {}))):
        with Pool(calls.at_fork, moment, int(signal.SIGSTOP)) as pool:
            check_lost(pool.call(function, *given, gives=list[Any], limits=Limits(0.2)))
    leave_nothing(os.getpid())


@alone
def test_a_server_that_is_stopped_while_it_prepares() -> None:
    pools._PREPARING = 0.2
    with Pool(calls.at_once, int(signal.SIGSTOP)) as pool:
        check_lost(pool.call(calls.add, 1, gives=int))
    leave_nothing(os.getpid())


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
@alone
def test_a_crowd_whose_server_ends_while_it_forks(number: signal.Signals) -> None:
    pools.GRACE = 0.2
    monkey = pytest.MonkeyPatch()
    monkey.setattr("optctx.children.crowd.GRACE", 0.2)
    crowd = Crowd(
        pool := Pool(calls.at_fork, "before", int(number)),
        calls.shared,
        function=calls.each,
        gives=tuple[int, int, bool],
        threads=2,
        limit=lambda _: 0.2,
    )
    with pool, crowd:
        crowd.submit(100, 100)
        with pytest.raises(EndedEarlyError, match=KILLED):
            crowd.results()
    leave_nothing(os.getpid())


# Compilations.


def test_a_compilation_whose_server_or_child_is_killed_or_stopped(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "GRACE", 0.2)
    pipe = endless(tmp_path)
    waits = Job(SCALE, SCALED, triple=X86, options=(f"-{LIST}={pipe}",))

    def ended(number: int, *, server: bool, timeout: float = SECONDS) -> tuple[str, str]:
        process = llvm_pool().process
        under_way = threads.submit(fresh.compile, waits, timeout=timeout)
        with reached(pipe):
            [child] = children_of(process)
            begun = time.monotonic()
            os.kill(process if server else child, number)
            result = under_way.result(SECONDS)
            assert time.monotonic() - begun < SECONDS / 10
        wait_for(lambda: not pathlib.Path(f"/proc/{child}").exists())
        assert fresh.compile(JOB).error is None
        return result.end, result.error or ""

    with FreshProcess() as fresh, ThreadPoolExecutor(1) as threads:
        assert ended(signal.SIGKILL, server=True) == ("lost", KILLED)
        assert ended(signal.SIGSTOP, server=True, timeout=0.5) == ("lost", KILLED)
        assert ended(signal.SIGKILL, server=False) == ("killed", "the fresh process was killed by SIGKILL")
        late = "the fresh process took longer than 0.5 s and was stopped"
        assert ended(signal.SIGSTOP, server=False, timeout=0.5) == ("timed out", late)


@pytest.mark.parametrize("moments", [12, pytest.param(120, marks=pytest.mark.long)])
@alone
def test_compilations_whose_server_is_killed_at_any_moment(moments: int) -> None:
    """From before its start to after its answer, two at once."""
    job = Job(f"; {'x' * 400_000}\n{SCALE}", triple=X86)  # more than a socket takes at once
    with FreshProcess() as fresh, ThreadPoolExecutor(2) as threads:
        begun = time.monotonic()
        assert fresh.compile(job).error is None
        takes = time.monotonic() - begun
        for place in range(moments):
            under_way = [threads.submit(fresh.compile, job, timeout=SECONDS) for _ in range(2)]
            time.sleep(takes * place / moments)
            for server in children_of(os.getpid()):
                os.kill(server, signal.SIGKILL)
            for result in [each.result(SECONDS / 10) for each in under_way]:
                assert (result.end, result.error) in (("ok", None), ("lost", KILLED))
            wait_for(lambda: fresh.compile(JOB).error is None)  # the killed one may seem to run
    llvm_pool().close()
    leave_nothing(os.getpid())


# A fork of the caller, such as a worker of multiprocessing.


@pytest.fixture
def copies() -> Any:
    """Makes forks of this process that live to the end of the test."""
    lives, end = os.pipe()
    made: list[int] = []

    def copy() -> None:
        if not (pid := fork()):
            os.close(end)
            select.select([lives], [], [], SECONDS)
            os._exit(0)
        made.append(pid)

    yield copy
    os.close(end)
    for pid in made:
        os.waitpid(pid, 0)
    os.close(lives)


def test_a_copy_that_has_both_ends_of_all_sockets_keeps_no_call_waiting(
    copies: Callable[[], None], monkeypatch: pytest.MonkeyPatch, soon: float
) -> None:
    send = socket.send_fds

    def send_after_fork(*given: Any) -> int:
        copies()
        return send(*given)

    with Pool(calls.base, 1) as pool:
        monkeypatch.setattr(socket, "send_fds", send_after_fork)
        assert in_time(soon, lambda: pool.call(calls.crash, gives=int)).death.status == -signal.SIGSEGV
        call = pool.submit(calls.wait, gives=int)
        threading.Timer(0.05, os.kill, (pool.process, signal.SIGKILL)).start()
        check_lost(in_time(soon, call.result))


def test_a_call_that_is_dropped_ends_although_a_copy_lives(copies: Callable[[], None]) -> None:
    with Pool(calls.base, 1) as pool:
        call = pool.submit(calls.wait, gives=int)
        wait_for(lambda: bool(children_of(pool.process)))
        copies()
        del call
        wait_for(lambda: not children_of(pool.process))
