"""Functions whose body would run after the scope was left: every way of calling one inside refuses it."""

from __future__ import annotations

import asyncio
import functools
import itertools
import types
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from optctx import OptionTypeError, propagating, wrap
from tests.support.rows import rows
from tests.support.scopes import four, unrolled


def generator(*_: object) -> Iterator[int]:
    yield unrolled()


async def coroutine(*_: object) -> int:
    return unrolled()


async def generating(*_: object) -> AsyncIterator[int]:
    yield unrolled()


KINDS: dict[str, Callable[..., Any]] = {
    "a generator": generator,
    "a coroutine": coroutine,
    "an asynchronous generator": generating,
    "a coroutine of types.coroutine": types.coroutine(generator),
}


def _in_a_pool(function: Callable[..., Any], map: bool) -> object:
    with four(), propagating(ThreadPoolExecutor(1)) as pool:
        return list(pool.map(function, [1])) if map else pool.submit(function).result()


DOORS: dict[str, Callable[[Callable[..., Any]], object]] = {
    "decorated": lambda function: four()(function)(),
    "run": lambda function: four().run(function),
    "wrapped": lambda function: four().run(wrap, function)(),
    "submitted": functools.partial(_in_a_pool, map=False),
    "mapped": functools.partial(_in_a_pool, map=True),
}


@rows("kind", KINDS)
def test_what_runs_later_is_refused_before_it_is_called(kind: str) -> None:
    function = KINDS[kind]
    made = type("Own", (), {"method": function, "static": staticmethod(function)})()
    deferred = (functools.partial(functools.partial(made.method), 1), made.static)
    for enter, each in itertools.product(DOORS.values(), deferred):
        with pytest.raises(OptionTypeError, match="its body runs after the call has returned"):
            enter(each)  # and no coroutine is left that nothing awaits


def test_other_functions_run_inside_and_their_results_are_returned() -> None:
    def begun() -> Iterator[int]:
        made = generator()
        assert next(made) == 4
        return made

    async def step() -> object:
        made = generating()
        assert await made.__anext__() == 4
        return made

    called = DOORS["decorated"]
    assert isinstance(called(begun), types.GeneratorType)
    assert called(lambda: asyncio.run(coroutine())) == 4
    assert isinstance(called(lambda: asyncio.run(step())), types.AsyncGeneratorType)
    assert called(functools.wraps(generator)(lambda: list(generator()))) == [4]
    assert called(type("Class", (), {"__call__": coroutine})) is not None  # a call makes an object
    assert called(int) == 0
    assert called([3].pop) == 3  # code in C
