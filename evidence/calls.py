"""Calls in children of a pool, a few at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, wait
from typing import Any, TypeVar

from optctx.children.answers import Done
from optctx.children.messages import Limits
from optctx.children.pool import Pool

R = TypeVar("R")
T = TypeVar("T")


def called(
    pool: Pool, tasks: Iterable[tuple[T, tuple[Any, ...]]], *, gives: type[R], at_once: int, seconds: float
) -> Iterator[tuple[T, Done[R]]]:
    """Make calls, each in a child of its own; yield (the name of the task, what came of it) as they end.

    `tasks`: (name, (function, its arguments after what the server has prepared)). `seconds`: for each.
    """
    waiting = iter(tasks)
    calls: dict[Any, T] = {}
    while True:
        for name, (function, *arguments) in itertools.islice(waiting, at_once - len(calls)):
            call = pool.submit(function, *arguments, gives=gives, limits=Limits(seconds))
            calls[call.future] = name
        if not calls:
            return
        for future in wait(calls, return_when=FIRST_COMPLETED).done:
            yield calls.pop(future), future.result()
