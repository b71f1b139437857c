"""Workers that multiprocessing forks begin outside any scope; `os.fork` keeps the scope."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import run_python

START = """
    import multiprocessing, os, sys, warnings
    from concurrent.futures import ProcessPoolExecutor
    from optctx import OptionContext, current, info, propagating, record, registry
    from support import both, in_child, unrolled

    warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is what is tested
    FORK = multiprocessing.get_context("fork")

    def state():
        return both(), info()["active_scopes"], current()["unroll-count"]

    OUTSIDE = ((1, 1), 0, 0)
"""


def test_a_pool_whose_workers_start_inside_a_scope(tmp_path: Path) -> None:
    run_python(
        START
        + """
    if __name__ == "__main__":
        with ProcessPoolExecutor(2, FORK) as pool:
            with OptionContext(unroll_count=4):
                inside = [pool.submit(state) for _ in range(4)]  # starts the workers
                assert unrolled() == 4
            outside = [pool.submit(state) for _ in range(4)]
            assert [each.result() for each in inside + outside] == [OUTSIDE] * 8
    """,
        file=tmp_path / "script.py",
    )


def test_work_that_is_propagated_to_such_a_pool(tmp_path: Path) -> None:
    run_python(
        START
        + """
    if __name__ == "__main__":
        with ProcessPoolExecutor(1, FORK) as pool:
            with OptionContext(unroll_count=4):
                four = propagating(pool).submit(unrolled)
                with OptionContext(unroll_count=2):
                    two = propagating(pool).submit(unrolled)
            assert (four.result(), two.result(), pool.submit(state).result()) == (4, 2, OUTSIDE)
    """,
        file=tmp_path / "script.py",
    )


@pytest.mark.redirected
def test_a_process_started_inside_scopes_and_recordings(tmp_path: Path) -> None:
    run_python(
        START
        + """
    def work():
        assert state() == OUTSIDE, state()
        with OptionContext(unroll_count=2), record() as own:
            assert unrolled() == 2
        assert own.reads["unroll-count"].values == (2,)

    if __name__ == "__main__":
        with OptionContext(unroll_count=4), OptionContext(unroll_count=8, unread="warn"), record() as log:
            process = FORK.Process(target=work)
            process.start()
            process.join()
            assert process.exitcode == 0
            in_child(lambda: unrolled() == 8 or sys.exit(1))
            assert dict(log.reads) == {}
            assert unrolled() == 8
        assert log.reads["unroll-count"].values == (8,)
        assert unrolled() == 1
    """,
        file=tmp_path / "script.py",
    )


def test_a_worker_started_while_options_are_changed_process_wide(tmp_path: Path) -> None:
    run_python(
        START
        + """
    def seed():
        return registry()["rng-seed"].value

    if __name__ == "__main__":
        with ProcessPoolExecutor(1, FORK) as pool, OptionContext(rng_seed=7, process_wide="exclusive"):
            assert pool.submit(seed).result() == 0
            assert seed() == 7
            assert propagating(pool).submit(seed).result() == 7
            assert pool.submit(seed).result() == 0
    """,
        file=tmp_path / "script.py",
    )


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_all_start_methods_agree(method: str, tmp_path: Path) -> None:
    run_python(
        START
        + f"""
    if __name__ == "__main__":
        with OptionContext(unroll_count=4):
            with multiprocessing.get_context("{method}").Pool(1) as pool:
                assert pool.apply(state) == OUTSIDE
    """,
        file=tmp_path / "script.py",
    )


def test_os_fork_keeps_the_scope() -> None:
    run_python(
        START
        + """
    with OptionContext(unroll_count=4):
        in_child(lambda: state() == ((4, 4), 1, 4) or sys.exit(1))
    in_child(lambda: state() == OUTSIDE or sys.exit(1))
    """
    )
