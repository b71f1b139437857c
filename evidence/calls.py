"""Calls in children of a pool, a few at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from optctx.children.messages import Limits
from optctx.children.pool import Call, Done, Pool, wait

R = TypeVar("R")
T = TypeVar("T")


def called(
    pool: Pool, tasks: Iterable[tuple[T, tuple[Any, ...]]], *, gives: type[R], at_once: int, seconds: float
) -> Iterator[tuple[T, Done[R]]]:
    """Make calls, each in a child of its own; yield (the name of the task, what came of it) as they end.

    `tasks`: (name, (function, its arguments after what the server has prepared)). `seconds`: for each.
    """
    waiting = iter(tasks)
    calls: dict[Call[R], T] = {}
    while True:
        for name, (function, *arguments) in itertools.islice(waiting, at_once - len(calls)):
            calls[pool.submit(function, *arguments, gives=gives, limits=Limits(seconds))] = name
        if not calls:
            return
        for call in wait(calls):
            if (done := call.done()) is not None:
                yield calls.pop(call), done
