"""Threads that begin with the contextvars of their starter (`thread_inherit_context`, Python 3.14)."""

from __future__ import annotations

import textwrap

import pytest

from tests.support.processes import python_process
from tests.support.scopes import FOLLOWS_TASKS

pytestmark = pytest.mark.skipif(
    not FOLLOWS_TASKS, reason="needs Python 3.14, where threads inherit: `make test-long`"
)

FLAGS = [(), ("-X", "thread_inherit_context=0"), ("-X", "thread_inherit_context=1")]
START = """
    import sys, threading
    from concurrent.futures import ThreadPoolExecutor
    from optctx import OptionContext, current, detach, info, propagating
    from tests.support.scopes import both, eight, four, unrolled

    inherits = bool(sys.flags.thread_inherit_context)
    inside, outside = (4, 4), (1, 1)
    expected = inside if inherits else outside
"""


def run(flags: tuple[str, ...], script: str) -> None:
    done = python_process(*flags, "-c", textwrap.dedent(START) + textwrap.dedent(script))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), flags


def test_a_thread_begins_inside_where_it_inherits_and_outside_where_not() -> None:
    for flags in FLAGS:
        run(
            flags,
            """
            seen = []
            with four() as context:
                thread = threading.Thread(target=lambda: seen.append((both(), current() is context)))
                thread.start()
                thread.join()
            assert seen == [(expected, inherits)]
            """,
        )


def test_an_idle_thread_that_inherited_a_scope_holds_nobody_up() -> None:
    """Workers of a pool stay in what the first submission was made in, for as long as they live."""
    run(
        FLAGS[-1],
        """
        pool = ThreadPoolExecutor(1)
        with four():
            assert pool.submit(both).result() == inside
            assert info()["active_scopes"] == 1
        assert info()["active_scopes"] == 0
        assert pool.submit(both).result() == inside
        with eight(), propagating(pool) as carried:
            assert carried.submit(both).result() == (8, 8)
        detach()
        """,
    )


def test_an_idle_thread_that_inherited_a_scope_reads_nothing_in_it() -> None:
    """What nobody read is told when the scope is left, whoever is in a copy of it."""
    run(
        FLAGS[-1],
        """
        from optctx import UnreadOptionError
        pool = ThreadPoolExecutor(1)
        try:
            with OptionContext({"unroll-count": 4}, unread="error"):
                assert pool.submit(lambda: current()["unroll-count"]).result() == 4
        except UnreadOptionError as error:
            assert error.names == ("unroll-count",)
        else:
            raise AssertionError("nobody was told")
        with OptionContext({"unroll-count": 4}, unread="error"):
            with propagating(ThreadPoolExecutor(1)) as carried:
                assert carried.submit(unrolled).result() == 4
        with OptionContext({"unroll-count": 4}, unread="error"):
            assert ThreadPoolExecutor(1).submit(both).result() == inside
        """,
    )
