"""Threads that begin with the contextvars of their starter (`thread_inherit_context`, Python 3.14).

Whether they do: tests/optctx/tasks/test_ways.py.
"""

from __future__ import annotations

import textwrap

import pytest

from tests.support.processes import python_process
from tests.support.scopes import FOLLOWS_TASKS

pytestmark = pytest.mark.skipif(
    not FOLLOWS_TASKS, reason="needs Python 3.14, where threads inherit: `make test-long`"
)


def test_an_idle_thread_that_inherited_a_scope_holds_nobody_up_and_reads_nothing_in_it() -> None:
    """Workers of a pool stay in what the first submission was made in, for as long as they live."""
    script = """
        from concurrent.futures import ThreadPoolExecutor
        from optctx import OptionContext, UnreadOptionError, current, detach, info, propagating
        from tests.support.scopes import both, eight, four, unrolled

        pool = ThreadPoolExecutor(1)
        with four():
            assert pool.submit(both).result() == (4, 4)
            assert info()["active_scopes"] == 1
        assert info()["active_scopes"] == 0
        assert pool.submit(both).result() == (4, 4)
        with eight(), propagating(pool) as carried:
            assert carried.submit(both).result() == (8, 8)
        detach()
        unread = lambda: OptionContext({"unroll-count": 4}, unread="error")
        try:  # what nobody read is told when the scope is left, whoever is in a copy of it
            with unread():
                assert ThreadPoolExecutor(1).submit(lambda: current()["unroll-count"]).result() == 4
        except UnreadOptionError as error:
            assert error.names == ("unroll-count",)
        else:
            raise AssertionError("nobody was told")
        with unread(), propagating(ThreadPoolExecutor(1)) as carried:
            assert carried.submit(unrolled).result() == 4
        with unread():
            assert ThreadPoolExecutor(1).submit(both).result() == (4, 4)
    """
    done = python_process("-X", "thread_inherit_context=1", "-c", textwrap.dedent(script))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
