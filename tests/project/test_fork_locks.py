"""The locks that fork knows, in the order of their ranks. tests/project/test_house.py finds any other."""

from __future__ import annotations

import gc
import re
import threading
import time
from functools import partial
from typing import Any

from optctx import locks
from optctx.locks import Rank, lock_held_by_fork, lock_left_behind
from tests.support.alone import alone
from tests.support.cpp_build import ROOT
from tests.support.interrupts import is_free
from tests.support.processes import in_child
from tests.support.scopes import beside


def listed(text: str) -> list[str]:
    """The ranks of native locks, in their order."""
    found = re.search(r"enum class Rank[^{]*\{(.*?)\};", text, re.DOTALL)
    assert found is not None
    return re.findall(r"^\s+(\w+),", found[1], re.MULTILINE)


NATIVE = listed((ROOT / "native/os/fork_locks.hpp").read_text())


def test_each_lock_has_a_rank_of_its_own() -> None:
    """Threads take several locks in the order of their ranks, which says nothing of two of the same rank."""
    for folder, used, ranks in (
        ("native", r"^(?:(?!//).)*Rank::(\w+)", NATIVE),
        ("optctx", r"lock_held_by_fork\(Rank\.(\w+)\)", list(Rank.__members__)),
    ):
        lab = (ROOT / "tests/native/lab").glob("*.[ch]pp") if folder == "native" else ()
        files = [
            path for path in [*(ROOT / folder).rglob("*"), *lab] if path.suffix in (".cpp", ".hpp", ".py")
        ]
        found = [name for path in files for name in re.findall(used, path.read_text(), re.MULTILINE)]
        assert sorted(found) == sorted(ranks)


def test_what_native_code_shares_with_python_is_released_without_the_gil() -> None:
    """nanobind makes a shared_ptr that takes the GIL at its end, also with a lock held, of other classes."""
    text = "\n".join(path.read_text() for path in (ROOT / "native").rglob("*.[ch]pp"))
    bound = re.findall(r"nb::class_<([\w:]+)>", text)
    shared = {name for name in re.findall(r"shared_ptr<(?:const )?([\w:]+)>", text) if name in bound}
    own = {name for name in shared if f"enable_shared_from_this<{name.split('::')[-1]}>" in text}
    assert shared == own != set()


@alone
def test_fork_waits_for_a_short_step_and_not_for_a_long_one() -> None:
    held, left = lock_held_by_fork(Rank.ENGINE), lock_left_behind()
    steps: list[str] = []
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with left, held:
            inside.set()
            time.sleep(0.3)
            steps.append("done")
        with left:
            leave.wait(30)

    def child() -> None:
        assert held.acquire(timeout=1)
        assert left.acquire(timeout=1)
        assert steps == ["done"]

    with beside(work):
        inside.wait(30)
        in_child(child)
        assert held.acquire(timeout=1)
        assert not left.acquire(blocking=False)
        leave.set()


@alone
def test_a_thread_that_holds_a_lock_may_fork_and_locks_that_are_gone_are_not_kept() -> None:
    def child(lock: Any) -> None:
        with lock:
            pass
        assert not is_free(lock)

    for lock in (lock_held_by_fork(Rank.ENGINE), lock_left_behind()):
        with lock:
            in_child(partial(child, lock))
    before = len(locks._locks)
    many = [lock_left_behind() for _ in range(1000)]
    assert len(locks._locks) == before + 1000
    del many
    gc.collect()
    assert len(locks._locks) == before
