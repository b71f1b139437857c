"""Workers that multiprocessing forks begin outside any scope; `os.fork` keeps the scope."""

from __future__ import annotations

import multiprocessing
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor

import pytest

from optctx import OptionContext, current, info, propagating, record, registry
from tests.support.alone import alone
from tests.support.processes import in_child
from tests.support.scopes import both, unrolled

FORK = multiprocessing.get_context("fork")


def state() -> tuple[object, ...]:
    return both(), info()["active_scopes"], current()["unroll-count"]


OUTSIDE = ((1, 1), 0, 0)


def seed() -> object:
    return registry()["rng-seed"].value


@pytest.mark.redirected
@alone
def test_a_process_started_inside_scopes_and_recordings() -> None:
    def work() -> None:
        assert state() == OUTSIDE, state()
        with OptionContext(unroll_count=2), record() as own:
            assert unrolled() == 2
        assert own.reads["unroll-count"].values == (2,)

    warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is what is tested
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


@alone
def test_a_worker_started_while_options_are_changed_process_wide() -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is what is tested
    with ProcessPoolExecutor(1, FORK) as pool, OptionContext(rng_seed=7, process_wide="exclusive"):
        assert pool.submit(seed).result() == 0
        assert seed() == 7
        assert propagating(pool).submit(seed).result() == 7
        assert pool.submit(seed).result() == 0
