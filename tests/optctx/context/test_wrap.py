"""`wrap` and `propagating`: work that is done elsewhere, in the context in which it was handed over.

Which scope goes along in which way: tests/optctx/tasks/test_ways.py.
"""

from __future__ import annotations

import functools
import inspect
import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, propagating, wrap
from tests.support.alone import alone
from tests.support.scopes import both, four, unrolled

pytestmark = pytest.mark.usefixtures("outside")


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


class Compiler:
    def method(self, /, *args: object, **kwargs: object) -> object:
        """How often, for what."""
        return unrolled(), args, kwargs

    __call__ = method


def test_everything_that_can_be_called_can_be_wrapped_and_looks_as_it_did() -> None:
    compiler = Compiler()
    with four():
        callables: list[Any] = [
            wrap(compiler.method),
            wrap(compiler),
            wrap(functools.partial(compiler.method)),
        ]
        own = type("Own", (), {"method": wrap(lambda self, **kwargs: (type(self).__name__, unrolled()))})
        copy = pickle.loads(pickle.dumps(wrap(both)))
    for function in callables:
        assert function(1, self=2, function=3) == (4, (1,), {"self": 2, "function": 3})
    assert own().method(extra=1) == ("Own", 4)
    assert wrap(max)(1, 2) == 2
    wrapped = callables[0]
    assert (wrapped.__name__, wrapped.__doc__) == ("method", "How often, for what.")
    assert inspect.signature(wrapped) == inspect.signature(compiler.method)
    assert "Compiler.method" in repr(wrapped)
    assert "'unroll-count': 4" in repr(wrapped)
    assert (copy(), copy.__name__) == ((4, 4), "both")


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

    def shutdown(self, wait: bool, **options: Any) -> None:
        self.seen.append((wait, options))


def test_other_libraries_executors_get_everything_as_it_was_given() -> None:
    recorder = Recorder()
    pool = propagating(recorder)  # type: ignore[arg-type]
    assert isinstance(pool, Executor)
    assert propagating(pool) is pool
    assert "Recorder" in repr(pool)
    with four():
        assert pool.submit(lambda *a, **k: (a, k, unrolled()), 1, fn=2).result() == ((1,), {"fn": 2}, 4)
        results = pool.map(lambda a, b: (a, b, unrolled()), [1, 2], [3, 4], timeout=3, chunksize=5)
    assert list(results) == [(1, 3, 4), (2, 4, 4)]
    pool.shutdown(wait=False, cancel_futures=True)
    assert recorder.seen == [{"timeout": 3, "chunksize": 5}, (False, {"cancel_futures": True})]
