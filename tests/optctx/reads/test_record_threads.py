"""`record()` on several threads, in processes, and used the wrong way."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager

import pytest

import optctx
from optctx import OptionContext, ScopeError, record
from optctx.reads.log import Log
from tests.support.processes import forked, in_child
from tests.support.scopes import eight, four, in_threads, seen_of, unrolled

pytestmark = [pytest.mark.usefixtures("attached")]


def test_a_log_is_for_its_own_thread_until_the_block_ends() -> None:
    with ThreadPoolExecutor(1) as pool:
        with four(), record() as log:
            unrolled()
            for ask in (lambda: log.reads, lambda: log.unread, log.fingerprint):
                with pytest.raises(ScopeError, match="another thread is recording"):
                    pool.submit(ask).result()
            for shown in (str, repr):
                assert "another thread is recording" in pool.submit(shown, log).result()
        assert pool.submit(seen_of, log).result() == (4,)
        assert pool.submit(lambda: log.unread).result() == []
        assert pool.submit(log.fingerprint).result() == log.fingerprint()


def test_a_thread_may_end_inside() -> None:
    blocks: list[AbstractContextManager[Log]] = []

    def work() -> None:
        four().__enter__()
        for _ in range(2):
            blocks.append(record())
            blocks[-1].__enter__()
            eight().__enter__()
        assert unrolled() == 8

    for _ in range(5):
        in_threads([work])
    for block in blocks:
        with pytest.raises(ScopeError):
            block.__exit__(None, None, None)
    blocks.clear()
    with record() as log:
        assert unrolled() == 1
    assert seen_of(log) == (0,)


@forked
def test_a_child_of_fork_goes_on_recording() -> None:
    def child() -> None:
        assert unrolled() == 4
        assert seen_of(log) == (4,)
        with OptionContext({"unroll-count": 2}), record() as own:
            assert unrolled() == 2
        assert (seen_of(own), seen_of(log)) == ((2,), (4, 2))

    with four(), record() as log:
        in_child(child)
        assert dict(log.reads) == {}
        assert unrolled() == 4
    assert seen_of(log) == (4,)


@forked
def test_nobody_detaches_while_a_block_records() -> None:
    with record() as log:
        assert unrolled() == 1
        with pytest.raises(ScopeError, match="1 block records"):
            optctx.detach()
    assert seen_of(log) == (0,)
    in_child(optctx.detach)
    optctx.detach()
    with record() as log:
        assert unrolled() == 1
    assert seen_of(log) == (0,)
