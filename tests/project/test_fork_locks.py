"""The locks that fork knows, in the order of their ranks. tests/project/test_house.py finds any other."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cpp_build import compile_cpp

ROOT = Path(__file__).parents[2]


def lines(folder: Path, *endings: str) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in endings:
            for line in path.read_text().splitlines():
                yield path.relative_to(ROOT), line


def without_comment(line: str, mark: str) -> str:
    return line.partition(mark)[0]


def native_ranks() -> list[str]:
    header = (ROOT / "native/os/fork_locks.hpp").read_text()
    listed = re.search(r"enum class Rank[^{]*\{(.*?)\};", header, re.DOTALL)
    assert listed is not None
    return re.findall(r"^\s+(\w+),", listed[1], re.MULTILINE)


def test_each_native_lock_has_a_rank_of_its_own() -> None:
    """Threads take several locks in the order of their ranks, which says nothing of two of the same rank."""
    used = [
        rank
        for path, line in lines(ROOT / "native", ".cpp", ".hpp")
        for rank in re.findall(r"Rank::(\w+)", without_comment(line, "//"))
    ]
    assert sorted(used) == sorted(native_ranks())


def test_a_build_that_checks_ranks_aborts_and_names_both_locks(tmp_path: Path) -> None:
    ranks = native_ranks()
    program = compile_cpp(
        ROOT / "tests/programs/cpp/lock_order.cpp",
        tmp_path / "lock_order",
        "-DOPTCTX_CHECK_RANKS",
        f"-I{ROOT / 'native'}",
        *(str(ROOT / "native/os" / name) for name in ("fork_locks.cpp", "os_linux.cpp")),
        standard="c++20",
    )

    def run(*names: str) -> subprocess.CompletedProcess[str]:
        numbers = [str(ranks.index(name)) for name in names]
        return subprocess.run([str(program), *numbers], capture_output=True, text=True, timeout=60)

    done = run(*ranks)
    assert (done.returncode, done.stderr) == (0, "")
    for held, taken in [("gate", "gate"), ("readers", "keys"), *zip(ranks[1:], ranks, strict=False)]:
        done = run(held, taken)
        assert done.returncode == -signal.SIGABRT
        assert f"holds the lock '{held}' takes the lock '{taken}'" in done.stderr


def test_each_lock_of_python_code_has_a_rank_of_its_own() -> None:
    from optctx.locks import Rank

    used = [
        rank
        for _, line in lines(ROOT / "optctx", ".py")
        for rank in re.findall(r"lock_held_by_fork\(Rank\.(\w+)\)", line)
    ]
    assert sorted(used) == sorted(Rank.__members__)


PROGRAM = """
import os, signal, sys, threading, time
from optctx.locks import Rank, lock_held_by_fork, lock_left_behind

held, left = lock_held_by_fork(Rank.ENGINE), lock_left_behind()
{body}
"""


def run(body: str) -> None:
    import textwrap

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(body=textwrap.dedent(body))],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_fork_waits_for_a_short_step_and_not_for_a_long_one() -> None:
    run("""
    steps = []
    inside, leave = threading.Event(), threading.Event()

    def work():
        with left, held:
            inside.set()
            time.sleep(0.3)
            steps.append("done")
        with left:
            leave.wait(30)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(30)
    if not (pid := os.fork()):
        free = held.acquire(timeout=1) and left.acquire(timeout=1)
        os._exit(0 if free and steps == ["done"] else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert held.acquire(timeout=1) and not left.acquire(blocking=False)
    leave.set()
    thread.join()
    """)


@pytest.mark.parametrize("lock", ["held", "left"])
def test_a_thread_that_holds_a_lock_may_fork(lock: str) -> None:
    run(f"""
    with {lock}:
        if not (pid := os.fork()):
            signal.alarm(20)
            with {lock}:
                pass
            got = []
            thread = threading.Thread(target=lambda: got.append({lock}.acquire(blocking=False)))
            thread.start()
            thread.join()
            os._exit(0 if got == [False] else 1)
        assert os.waitpid(pid, 0)[1] == 0
    """)


def test_locks_that_are_gone_are_not_kept() -> None:
    run("""
    import gc
    from optctx import locks
    before = len(locks._locks)
    many = [lock_left_behind() for _ in range(1000)]
    assert len(locks._locks) == before + 1000
    del many
    gc.collect()
    assert len(locks._locks) == before
    """)
