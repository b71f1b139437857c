"""Pools: whatever a child, its server or the caller does, each call has one end, and nothing is left."""

from __future__ import annotations

import functools
import os
import pathlib
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

import pytest

from optctx.children.death import Death
from optctx.children.limits import Limits
from optctx.children.pool import Pool
from optctx.errors import OptctxError
from tests.optctx.children import calls
from tests.support.alone import alone
from tests.support.forking import run_and_end
from tests.support.processes import SECONDS, children_of, of_session, run_python, wait_for
from tests.support.rows import rows

LATE = Limits(seconds=0.5)


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(calls.base, 40) as pool:
        yield pool


@pytest.fixture(scope="module", params=["a process", "a fork of another server"])
def any_pool(request: pytest.FixtureRequest, pool: Pool) -> Iterator[Pool]:
    with Pool(calls.base, 40, within=None if request.param == "a process" else pool) as made:
        yield made


def test_values_travel_and_the_first_argument_is_what_was_prepared(any_pool: Pool) -> None:
    assert any_pool.call(calls.add, 2, gives=int).value == 42
    large = os.urandom(1 << 22)  # more than a pipe holds, there and back
    given = ("a text \u2713", large, {"a": [1.0, 2.5], "": []})
    assert any_pool.call(calls.same, *given, gives=tuple[str, bytes, dict[str, list[float]]]).value == given
    assert any_pool.call(calls.same, None, b"", {}, gives=list[Any]).value == [None, b"", {}]
    with pytest.raises(OptctxError, match="not valid Unicode"):
        any_pool.call(calls.same, "\udcff", b"", {}, gives=list[Any])
    first, second = (any_pool.call(calls.process, gives=tuple[int, int]).value for _ in range(2))
    assert first
    assert second
    assert first[0] != second[0]
    assert first[1] == second[1] == any_pool.process


ENDS: dict[Callable[..., Any], tuple[str, str, bool]] = {  # how, words, whether the machine is the cause
    calls.crash: ("killed", "killed by SIGSEGV", False),
    calls.exits: ("exited", "LLVM ERROR: odd", False),
    calls.hang: ("timed out", "timed out", True),
    calls.no_memory: ("out of memory", "out of memory", True),
    calls.broken: ("lost", "LookupError: nothing \\udcff there", True),
    calls.misfit: ("nonsense", "it wrote to a descriptor that is not its own", True),
}


@rows("function", ENDS)
def test_each_end_is_a_value(function: Callable[..., Any], any_pool: Pool) -> None:
    done = any_pool.call(function, gives=int, limits=LATE)
    assert done.death is not None
    assert (done.death.how, str(done.death), done.death.of_machine) == ENDS[function]
    assert done.value is None
    assert any_pool.call(calls.add, 2, gives=int).value == 42


def test_an_error_is_words_and_no_death(any_pool: Pool) -> None:
    done = any_pool.call(calls.refused, gives=int)
    assert (done.error, done.death, done.value) == ("LLVM refuses it", None, None)


def test_calls_of_many_threads_do_not_disturb_each_other(any_pool: Pool) -> None:
    def one(number: int) -> object:
        if number % 6:
            return any_pool.call(calls.add, number, gives=int).value
        function = (calls.crash, calls.exits, calls.hang)[number // 6 % 3]
        death = any_pool.call(function, gives=int, limits=LATE).death
        return death and death.how

    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(one, range(18)))
    assert found[::6] == ["killed", "exited", "timed out"]
    assert all(found[number] == number + 40 for number in range(18) if number % 6)


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
def test_a_child_that_writes_nonsense_is_killed_and_that_is_its_death(name: str, any_pool: Pool) -> None:
    done = any_pool.call(calls.write, NONSENSE[name], gives=int, limits=Limits(seconds=20.0))
    assert done.death is not None, done
    assert done.death.how == "nonsense"
    assert any_pool.call(calls.add, 2, gives=int).value == 42


def test_children_run_where_the_caller_is_now(
    any_pool: Pool, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPTCTX_PLACE", "here")
    monkeypatch.chdir(tmp_path)
    assert any_pool.call(calls.place, "OPTCTX_PLACE", gives=tuple[str, str]).value == (str(tmp_path), "here")
    monkeypatch.delenv("OPTCTX_PLACE")
    monkeypatch.undo()
    assert any_pool.call(calls.place, "OPTCTX_PLACE", gives=tuple[str, str | None]).value == (
        os.getcwd(),
        None,
    )
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert any_pool.call(calls.add, 1, gives=int).value == 41


def test_a_pool_can_have_a_folder_of_its_own(pool: Pool, tmp_path: pathlib.Path) -> None:
    with Pool(calls.base, 1, within=pool, directory=str(tmp_path)) as own:
        assert own.call(calls.place, "TMPDIR", gives=tuple[str, str]).value == (str(tmp_path),) * 2


def test_limits_are_never_above_those_of_the_caller() -> None:
    run_python("""
        import resource
        from optctx.children.limits import Limits
        from optctx.children.pool import Pool
        from tests.optctx.children import calls

        most = {resource.RLIMIT_CPU: 100, resource.RLIMIT_AS: 2_000_000 << 10, resource.RLIMIT_FSIZE: 1 << 20}
        for kind, limit in most.items():
            resource.setrlimit(kind, (limit, limit))
        with Pool(calls.base, 1) as pool:
            wide, narrow = Limits(1000.0, 1 << 40, files=1 << 30), Limits(1.0, 1 << 20, files=100)
            assert pool.call(calls.limits, gives=list[int], limits=wide).value == list(most.values())
            processor, memory, files = pool.call(calls.limits, gives=list[int], limits=narrow).value
            assert processor < 100 and memory < 2_000_000 << 10 and files == 100
    """)


def test_a_limit_that_the_caller_lowers_later_reaches_children_and_nothing_else() -> None:
    run_python("""
        import resource
        from optctx.children.pool import Pool
        from tests.optctx.children import calls

        kinds = resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE
        with Pool(calls.base, 1) as pool, Pool(calls.base, 1, within=pool) as within:
            before = [resource.getrlimit(kind) for kind in kinds]
            assert pool.call(calls.soft_limits, gives=list[int]).value == [soft for soft, _ in before]
            lower = [90, 3_000_000 << 10, 1 << 20, 50]
            for kind, limit, (_, hard) in zip(kinds, lower, before):
                resource.setrlimit(kind, (limit, hard))
            for each in (pool, within):
                assert each.call(calls.soft_limits, gives=list[int]).value == lower
            assert pool.call(calls.print_much, 2 << 20, gives=int).cut
            for kind, limits in zip(kinds, before):
                resource.setrlimit(kind, limits)
            assert pool.call(calls.soft_limits, gives=list[int]).value == [soft for soft, _ in before]
            assert not pool.call(calls.print_much, 2 << 20, gives=int).cut
    """)


def test_a_server_that_cannot_prepare_says_why(pool: Pool) -> None:
    for within in (None, pool):
        with Pool(calls.refuse, within=within) as refused:
            with pytest.raises(OptctxError, match="it cannot be prepared"):
                _ = refused.process
            assert refused.call(calls.add, 1, gives=int).death is not None
        with Pool(calls.give_up, within=within, name="odd server") as ended:
            done = ended.call(calls.add, 1, gives=int)
            assert str(done.death).startswith("the odd server ended with status 3 before it answered")
            assert "LLVM ERROR: odd" in str(done.death)


def test_what_a_server_that_is_killed_was_doing_is_lost(pool: Pool) -> None:
    for within in (None, pool):
        with Pool(calls.base, 1, within=within) as killed:
            under_way = [killed.submit(calls.wait, gives=int) for _ in range(2)]
            wait_for(lambda: len(children_of(killed.process)) == 2)
            alive = children_of(killed.process)
            os.kill(killed.process, signal.SIGKILL)
            for each in (*under_way, killed.submit(calls.add, 1, gives=int)):
                done = each.result(SECONDS)
                assert done.death is not None
                assert done.death.how == "lost"
                assert "ended with status -9" in str(done.death)
            wait_for(functools.partial(ended, alive))


def ended(processes: list[int]) -> bool:
    return not any(map(runs, processes))


def runs(process: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_wait_that_ends_early_ends_the_child(any_pool: Pool) -> None:
    call = any_pool.submit(calls.hang, gives=int)
    wait_for(lambda: bool(children_of(any_pool.process)))
    with pytest.raises(FutureTimeoutError):
        call.result(0.01)
    assert call.future.result(SECONDS).death == Death("killed", -signal.SIGKILL, "")


def test_a_child_that_talks_and_one_that_does_not_listen(any_pool: Pool) -> None:
    with any_pool.talk(calls.echo, gives=str) as talk, pytest.raises(TimeoutError):
        talk.hear(0.01)
    with any_pool.talk(calls.deaf, gives=str) as talk:
        for _ in range(64):  # neither side waits for the other
            talk.line.tell("x" * 10_000)
        assert [talk.hear(SECONDS) for _ in range(64)] == [str(number) * 10_000 for number in range(64)]
        assert {talk.hear(SECONDS) for _ in range(64)} == {"x"}
        talk.line.close()
        assert talk.hear(SECONDS) == Death("exited", 0, "")


def test_a_forked_copy_of_the_caller_leaves_the_pool_alone(any_pool: Pool) -> None:
    def work() -> None:
        with pytest.raises(OptctxError, match="belongs to the process that this one was forked from"):
            any_pool.call(calls.add, 1, gives=int)
        any_pool.close()
        with Pool(calls.base, 1) as own:
            assert own.call(calls.add, 1, gives=int).value == 2

    pid = os.fork()
    if not pid:
        run_and_end(work)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert any_pool.call(calls.add, 2, gives=int).value == 42


def test_a_pool_ends_although_a_forked_copy_lives() -> None:
    with Pool(calls.base, 1) as pool:
        server = pool.process
        pid = os.fork()
        if not pid:
            time.sleep(SECONDS)
            os._exit(0)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not runs(server)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


# The end of the caller, at each step.

CALLER = """
import os, signal, sys, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from optctx.children.pool import Pool
from tests.optctx.children import calls

def said():
    print("there", flush=True)

step = sys.argv[1]
pool = Pool(calls.base, 1)
if step == "starting":
    threading.Timer(0.02, said).start()
pool.start()
if step == "preparing":
    said()
pool.process
within = Pool(calls.base, 1, within=pool)
within.start()
for each in (pool, within):
    for _ in range(2):
        each.submit(calls.hang, gives=int)
def children(process):
    return open(f"/proc/{process}/task/{process}/children").read().split()

while step == "hanging" and not all(len(children(each.process)) >= 2 for each in (pool, within)):
    time.sleep(0.01)
said()
try:
    time.sleep(3600)
finally:
    if step == "closing":
        pool.close()
"""


STEPS = ["starting", "preparing", "hanging", "closing"]
ENDED = [
    *((step, signal.SIGKILL) for step in STEPS),
    *((step, signal.SIGINT) for step in STEPS[2:]),  # which Python answers, and the pool with it
    *(pytest.param(step, signal.SIGINT, marks=pytest.mark.long) for step in STEPS[:2]),
    *(pytest.param(step, signal.SIGTERM, marks=pytest.mark.long) for step in STEPS),
]


@pytest.mark.parametrize(("step", "number"), ENDED)
def test_nothing_outlives_the_caller(step: str, number: signal.Signals) -> None:
    caller = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal; signal.signal(2, signal.default_int_handler)\n" + CALLER,
            step,
        ],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert caller.stdout is not None
    assert caller.stdout.readline() == b"there\n"
    os.killpg(caller.pid, number)  # as a terminal does
    assert caller.wait(SECONDS) in (-number, 1, 130)
    caller.stdout.close()
    wait_for(lambda: not of_session(caller.pid))


class Interrupt(Exception):  # noqa: N818  as KeyboardInterrupt
    pass


@alone  # pools of other tests may be ending
def test_an_interrupt_at_any_moment_leaves_no_process_and_no_descriptor() -> None:
    threads = threading.active_count()

    def interrupt(*_: object) -> None:
        raise Interrupt

    def work() -> None:
        with Pool(calls.base, 1) as pool:
            pool.submit(calls.hang, gives=int)
            pool.call(calls.add, 1, gives=int)
            with Pool(calls.base, 1, within=pool) as within:
                within.call(calls.add, 1, gives=int)

    work()
    wait_for(lambda: threading.active_count() <= threads)
    before = len(os.listdir("/proc/self/fd")), children_of(os.getpid())
    handler = signal.signal(signal.SIGALRM, interrupt)
    try:
        for place in range(40):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.004 + place * 0.008)
                work()
            except Interrupt:
                pass
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, handler)
    wait_for(lambda: (len(os.listdir("/proc/self/fd")), children_of(os.getpid())) == before)
