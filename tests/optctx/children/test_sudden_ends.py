"""A server or a child is killed or stopped at any moment: each call ends soon, and no process is left."""

from __future__ import annotations

import operator
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
from optctx.children.pool import Done, Pool, SharedPool
from optctx.compiling import FreshProcess, Job, llvm_pool
from optctx.errors import EndedEarlyError
from tests.optctx.children import calls
from tests.support.alone import alone
from tests.support.endless import LIST, SCALED, endless, reached
from tests.support.forking import fork
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import SECONDS, children_of, of_session, wait_for

JOB = Job(SCALE, triple=X86)
LARGE = b"x" * (4 << 20)  # more than a socket takes at once
KILLED = "the helper process ended with status -9 before it answered"
SOON = Limits(SECONDS / 10)
EITHER = pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])


def check_lost(done: Done[Any]) -> None:
    assert done.death is not None
    assert (done.death.how, str(done.death)) == ("lost", KILLED)


def leave_nothing(session: int) -> None:
    """Of the processes of this session, only this one goes on."""
    wait_for(lambda: len(of_session(session)) == 1)


@EITHER
@alone
def test_a_server_that_ends_while_it_forks(number: signal.Signals) -> None:
    """A stopped one is killed. So is one that does not tell of the end of a child that has answered."""
    killed = number == signal.SIGKILL
    pools.GRACE = SECONDS if killed else 0.1
    limits = Limits(SECONDS if killed else 0.1)
    for moment in ("before", "after_in_parent", "after_in_child"):
        for function, given in ((calls.wait, ()), (calls.same, (None, LARGE, {}))):
            with Pool(calls.at_fork, moment, int(number)) as pool:
                begun = time.monotonic()
                check_lost(pool.call(function, *given, gives=list[Any], limits=limits))
                assert time.monotonic() - begun < SECONDS / 10
    leave_nothing(os.getpid())


@alone
def test_a_server_that_is_stopped_while_it_prepares() -> None:
    pools._PREPARING = 0.2
    with Pool(calls.at_once, int(signal.SIGSTOP)) as pool:
        check_lost(pool.call(operator.add, 1, gives=int))
    leave_nothing(os.getpid())


@EITHER
@alone
def test_a_crowd_whose_server_ends_while_it_forks(number: signal.Signals) -> None:
    pools.GRACE = 0.2
    pytest.MonkeyPatch().setattr("optctx.children.crowd.GRACE", 0.2)
    crowd = Crowd(
        pool := Pool(calls.at_fork, "before", int(number)),
        int,
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


@pytest.mark.parametrize("moments", [12, pytest.param(120, marks=pytest.mark.long)])
@alone
def test_calls_whose_server_is_killed_at_any_moment(moments: int) -> None:
    """From before its start to after its answer, two at once."""
    shared = SharedPool(int)

    def call() -> Done[list[Any]]:
        return shared.running().call(calls.same, None, LARGE, {}, gives=list[Any], limits=Limits(SECONDS))

    def starts() -> bool:
        return call().value is not None

    with ThreadPoolExecutor(2) as threads:
        begun = time.monotonic()
        assert starts()
        takes = time.monotonic() - begun
        for place in range(moments):  # most of them begin with the start of a server
            under_way = [threads.submit(call) for _ in range(2)]
            time.sleep(takes * place / moments)
            for server in children_of(os.getpid()):
                os.kill(server, signal.SIGKILL)
            for done in [each.result(SECONDS / 10) for each in under_way]:
                if done.value is None:
                    check_lost(done)
        wait_for(starts)  # the killed one may seem to run
    shared.running().close()
    leave_nothing(os.getpid())


def test_a_compilation_whose_server_or_child_is_killed_or_stopped(tmp_path: pathlib.Path) -> None:
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
        assert ended(signal.SIGKILL, server=False) == ("killed", "killed by SIGKILL")
        late = ("timed out", "took longer than 0.5 s")
        assert ended(signal.SIGSTOP, server=False, timeout=0.5) == late
        assert ended(signal.SIGKILL, server=True) == ("lost", KILLED)
        under_way = threads.submit(fresh.compile, waits)
        with reached(pipe):
            fresh.__exit__()  # while another thread compiles
            assert under_way.result(SECONDS).end == "killed"


def runs(process: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


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
    assert all(os.waitpid(pid, os.WNOHANG) == (0, 0) for pid in made)
    os.close(end)
    for pid in made:
        os.waitpid(pid, 0)
    os.close(lives)


def test_a_copy_that_has_both_ends_of_all_sockets_keeps_nothing_waiting(
    copies: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call whose child or server dies, one that is dropped with what it started, and the end of a pool."""
    send = socket.send_fds

    def send_after_fork(*given: Any) -> int:
        copies()
        return send(*given)

    with Pool(int, 1) as pool:
        monkeypatch.setattr(socket, "send_fds", send_after_fork)
        assert str(pool.call(calls.crash, gives=int, limits=SOON).death) == "killed by SIGSEGV"
        hangs = pool.submit(calls.hang, gives=int)
        wait_for(lambda: bool(children_of(pool.process)))
        [child] = children_of(pool.process)
        wait_for(lambda: bool(children_of(child)))
        alive = [child, *children_of(child)]
        del hangs
        wait_for(lambda: not any(map(runs, alive)))
        call = pool.submit(calls.wait, gives=int, limits=SOON)
        threading.Timer(0.05, os.kill, (pool.process, signal.SIGKILL)).start()
        begun = time.monotonic()
        check_lost(call.result())
        assert time.monotonic() - begun < SECONDS / 10
    with Pool(int, 1) as pool:
        server = pool.process
        copies()
    assert not runs(server)
