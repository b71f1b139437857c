"""Workers that multiprocessing starts begin outside any scope; what is handed over goes along."""

from __future__ import annotations

import multiprocessing
import warnings
from concurrent.futures import ProcessPoolExecutor

from optctx import OptionContext, current, info, propagating, wrap
from tests.support.alone import alone
from tests.support.scopes import both


def state() -> tuple[object, ...]:
    return both(), info()["active_scopes"], current()["unroll-count"]


OUTSIDE = ((1, 1), 0, 0)


def overridden(argument: int) -> tuple[object, ...]:
    return argument, both(), dict(current().overrides)


@alone
def test_processes_that_are_forked_and_spawned() -> None:
    """Workers begin outside, wherever they start; what is handed over goes along."""
    warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads is what is tested
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        with ProcessPoolExecutor(1, mp_context=context) as workers:
            with OptionContext(unroll_count=6):
                wrapped = wrap(both)
                outside = workers.submit(state)  # starts the worker
                assert outside.result() == workers.submit(state).result() == OUTSIDE, method
                assert workers.submit(wrapped).result() == (6, 6), method
            pool = propagating(workers)
            with OptionContext(unroll_count=3):
                inside = pool.submit(overridden, 3)
            after = pool.submit(both)
            with OptionContext(unroll_count=5):
                mapped = pool.map(overridden, range(4), chunksize=2)
            assert inside.result() == (3, (3, 3), {"unroll-count": 3}), method
            assert after.result() == (1, 1), method
            assert list(mapped) == [(n, (5, 5), {"unroll-count": 5}) for n in range(4)], method
            assert workers.submit(state).result() == OUTSIDE, method
    with OptionContext(unroll_count=4), multiprocessing.get_context("fork").Pool(1) as other:
        assert other.apply(state) == OUTSIDE
