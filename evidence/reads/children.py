"""Runs tasks in forked children, so that none ends this process, and no compilation follows another one."""

from __future__ import annotations

import functools
import pickle
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from evidence.forked_children import Ending, endings
from optctx.children.death import last_line
from optctx.errors import OptctxError

__all__ = ["Ended", "run_in_children"]


class Ended(NamedTuple):
    """How a task ended: its result, or why there is none."""

    name: str
    result: Any = None
    problem: str = ""


def run_in_children(
    tasks: Iterable[tuple[str, Callable[[], object]]], *, jobs: int, seconds: float
) -> Iterator[Ended]:
    """Run each task in a child of this process, `jobs` at once; yield how each ended, in that order.

    What a child prints is lost. An OptctxError of a task is its problem; so are the signal and the limit that
    end a child. Otherwise as `endings`.
    """
    caught = ((name, functools.partial(_result, task)) for name, task in tasks)
    for ending in endings(caught, jobs=jobs, seconds=seconds):
        yield _ended(ending, seconds)


def _result(task: Callable[[], object]) -> tuple[object, str]:
    try:
        return task(), ""
    except OptctxError as error:
        return None, str(error)


def _ended(ending: Ending[str], seconds: float) -> Ended:
    if ending.late:
        return Ended(ending.name, problem=f"it took more than {seconds:g} seconds")
    if ending.status < 0:
        return Ended(ending.name, problem=f"LLVM died: {signal.Signals(-ending.status).name}")
    if ending.status > 0 or not ending.data:
        said = last_line(ending.said.decode(errors="replace"))
        return Ended(ending.name, problem=f"the process ended with status {ending.status}{said}")
    result, problem = pickle.loads(ending.data)
    return Ended(ending.name, result, problem)
