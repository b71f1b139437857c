"""`wrap` and `propagating`: work that is done elsewhere, in the context in which it was handed over."""

from __future__ import annotations

import functools
import inspect
import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as Late
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, propagating, wrap
from tests.support.alone import alone
from tests.support.processes import SECONDS
from tests.support.scopes import both, unrolled

pytestmark = pytest.mark.usefixtures("outside")


def unroll(count: int) -> OptionContext:
    return OptionContext({"unroll-count": count}, base="defaults")


# wrap


@alone
def test_outside_any_scope_it_is_the_process_wide_values_of_that_moment() -> None:
    binding.set_option("", "-unroll-count=3")
    wrapped = wrap(unrolled)
    binding.set_option("", "-unroll-count=5")
    assert (wrapped(), unrolled()) == (3, 5)
    with OptionContext(unroll_count=2):
        assert wrapped() == 3
    with propagating(ThreadPoolExecutor(1)) as pool:
        assert pool.submit(unrolled).result() == 5


def test_of_two_wrappings_the_inner_one_holds() -> None:
    with unroll(4):
        inner = wrap(both)
    with unroll(8):
        assert wrap(inner)() == (4, 4)


class Compiler:
    def __init__(self) -> None:
        self.calls: list[object] = []

    def method(self, /, *args: object, **kwargs: object) -> object:
        """Remembers."""
        self.calls.append((args, kwargs))
        return unrolled()

    __call__ = method


def test_everything_that_can_be_called_can_be_wrapped() -> None:
    compiler = Compiler()
    with unroll(4):
        callables: list[Callable[..., object]] = [
            wrap(compiler.method),
            wrap(compiler),
            wrap(functools.partial(compiler.method)),
            wrap(lambda *args, **kwargs: compiler(*args, **kwargs)),
        ]
        own = type("Own", (), {"method": wrap(lambda self, **kwargs: (type(self).__name__, unrolled()))})
    for function in callables:
        assert function(1, self=2, function=3) == 4
    assert compiler.calls == [((1,), {"self": 2, "function": 3})] * 4
    assert own().method(extra=1) == ("Own", 4)
    assert wrap(max)(1, 2) == 2


def test_a_wrapped_function_looks_like_the_function_and_can_be_pickled() -> None:
    def count(extra: int, *, more: int = 0) -> int:
        """How often."""
        return extra + more

    with unroll(4):
        wrapped: Any = wrap(count)
        copy = pickle.loads(pickle.dumps(wrap(both)))
    assert (wrapped.__name__, wrapped.__doc__) == ("count", "How often.")
    assert inspect.signature(wrapped) == inspect.signature(count)
    assert "count" in repr(wrapped)
    assert "'unroll-count': 4" in repr(wrapped)
    assert (copy(), copy.__name__) == ((4, 4), "both")


# propagating


@pytest.mark.redirected
def test_map_takes_the_context_of_the_moment_and_arguments_in_order() -> None:
    with propagating(ThreadPoolExecutor(4)) as pool:
        with unroll(4):
            results = pool.map(lambda a, b: (a, b, unrolled()), range(8), range(8, 16))
        with unroll(8):
            assert list(results) == [(n, n + 8, 4) for n in range(8)]
        ended = threading.Event()
        try:
            with pytest.raises(Late):
                list(pool.map(ended.wait, [SECONDS], timeout=0.01))
        finally:
            ended.set()


@pytest.mark.redirected
def test_work_that_submits_work_hands_its_own_context_on() -> None:
    def outer() -> tuple[object, object]:
        before = pool.submit(both)
        with unroll(8):
            return before.result(), pool.submit(both).result()

    with propagating(ThreadPoolExecutor(4)) as pool, unroll(4):
        assert pool.submit(outer).result() == ((4, 4), (8, 8))


class Recorder:
    """An executor of some other library: it has the methods, and no base class."""

    def __init__(self) -> None:
        self.seen: list[object] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future

    def map(self, fn: Callable[..., Any], *iterables: Any, **options: Any) -> Iterator[Any]:
        self.seen.append(options)
        return map(fn, *iterables)

    def shutdown(self, *args: Any, **options: Any) -> None:
        self.seen.append((args, options))


def test_other_libraries_executors_get_everything_as_it_was_given() -> None:
    recorder = Recorder()
    with propagating(recorder) as pool:  # type: ignore[arg-type]
        assert isinstance(pool, Executor)
        with unroll(4):
            assert pool.submit(lambda *a, **k: (a, k, unrolled()), 1, fn=2).result() == ((1,), {"fn": 2}, 4)
            assert list(pool.map(lambda n: n + unrolled(), [1], timeout=3, chunksize=5)) == [5]
        pool.shutdown(wait=False, cancel_futures=True)
    assert recorder.seen == [
        {"timeout": 3, "chunksize": 5},
        ((False,), {"cancel_futures": True}),
        ((True,), {}),
    ]


def test_a_pool_is_propagated_once_and_shut_down_with_its_executor() -> None:
    threads = ThreadPoolExecutor(1)
    with propagating(threads) as pool:
        pool.submit(both)
        assert propagating(pool) is pool
        assert "ThreadPoolExecutor" in repr(pool)
    with pytest.raises(RuntimeError, match="after shutdown"):
        threads.submit(both)
    with pytest.raises(RuntimeError, match="after shutdown"):
        pool.submit(both)
