"""Functions whose body would run after the scope was left: every way of calling one inside refuses it."""

from __future__ import annotations

import asyncio
import contextlib
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

BODIES: list[str] = []  # that have begun


def generator(*_: object) -> Iterator[int]:
    BODIES.append("generator")
    yield unrolled()


async def coroutine(*_: object) -> int:
    BODIES.append("coroutine")
    return unrolled()


async def generating(*_: object) -> AsyncIterator[int]:
    BODIES.append("generating")
    yield unrolled()


KINDS: dict[str, Callable[..., Any]] = {
    "a generator": generator,
    "a coroutine": coroutine,
    "an asynchronous generator": generating,
    "a context manager": contextlib.contextmanager(generator),
    "an asynchronous context manager": contextlib.asynccontextmanager(generating),
    "a coroutine of types.coroutine": types.coroutine(generator),
}


def _submit(function: Callable[..., Any]) -> object:
    with four(), propagating(ThreadPoolExecutor(1)) as pool:
        return pool.submit(function).result()


def _map(function: Callable[..., Any]) -> object:
    with four(), propagating(ThreadPoolExecutor(1)) as pool:
        return list(pool.map(function, [1]))


def _wrapped(function: Callable[..., Any]) -> object:
    with four():
        wrapped = wrap(function)
    return wrapped()


DOORS: dict[str, Callable[[Callable[..., Any]], object]] = {
    "decorated": lambda function: four()(function)(),
    "run": lambda function: four().run(function),
    "wrapped": _wrapped,
    "submitted": _submit,
    "mapped": _map,
}


@rows("kind", KINDS)
def test_what_runs_later_is_refused_before_it_is_called(kind: str) -> None:
    function = KINDS[kind]
    own = {"method": function, "__call__": function, "static": staticmethod(function)}
    made = type("Own", (), own)()
    deferred = (
        function,
        functools.partial(functools.partial(made.method), 1),
        made.method,
        made,
        made.static,
        type("Calls", (), {"__call__": made})(),
    )
    for (door, enter), each in itertools.product(DOORS.items(), deferred):
        BODIES.clear()
        with pytest.raises(OptionTypeError, match="its body runs after the call has returned"):
            enter(each)  # and no coroutine is left that nothing awaits
        assert not BODIES, door


@rows("kind", KINDS)
def test_so_is_a_result_whose_body_has_not_begun(kind: str) -> None:
    made = []

    @functools.wraps(KINDS[kind])
    def plain(*arguments: object) -> object:
        made.append(KINDS[kind](*arguments))
        return made[-1]

    for door, enter in DOORS.items():
        for function in (plain, functools.lru_cache(plain), lambda *arguments: plain(*arguments)):
            BODIES.clear()
            with pytest.raises(
                OptionTypeError, match="returned it without running it; use `with` in that bod"
            ):
                enter(function)
            assert not BODIES, door
            if hasattr(made[-1], "close"):
                made[-1].close()  # it is still the caller's


@rows("door", ["decorated", "run", "wrapped", "submitted"])
def test_results_that_are_complete_or_have_begun_are_returned(door: str) -> None:
    def begun() -> Iterator[int]:
        made = generator()
        assert next(made) == 4
        return made

    def ended() -> Iterator[int]:
        made = generator()
        assert list(made) == [4]
        return made

    def entered() -> object:
        manager = KINDS["a context manager"]()
        assert manager.__enter__() == 4
        return manager

    async def step() -> object:
        made = generating()
        assert await made.__anext__() == 4
        return made

    for function in (begun, ended):
        assert isinstance(DOORS[door](function), types.GeneratorType)
    assert hasattr(DOORS[door](entered), "__exit__")
    assert DOORS[door](lambda: asyncio.run(coroutine())) == 4
    assert isinstance(DOORS[door](lambda: asyncio.run(step())), types.AsyncGeneratorType)
    assert DOORS[door](lambda: list(generator())) == [4]
    assert DOORS[door](functools.wraps(generator)(lambda: list(generator()))) == [4]
    assert DOORS[door](contextlib.contextmanager(generator)()(unrolled)) == 4
    assert DOORS[door](type("Class", (), {"__call__": coroutine})) is not None  # a call makes an object
    assert DOORS[door](int) == 0
    assert DOORS[door]([3].pop) == 3  # code in C
