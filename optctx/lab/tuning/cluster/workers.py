"""Work that others do: tried again where a worker is not the right one, or does not live through it."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any

from optctx.errors import OptctxError
from optctx.lab.tuning.cluster.task import Expected, Mismatch, Reply, Work

__all__ = ["Lost", "Result", "Task", "Workers", "reply_of"]

MOST_LOST = 3  # workers that one task may take with it
_MOST_ERRORS = 3


@dataclass(frozen=True)
class Lost:
    """Of a task whose workers were all lost."""

    workers: tuple[str, ...]

    def __str__(self) -> str:
        whose = f"each of {len(self.workers)} workers" if len(self.workers) > 1 else "its worker"
        return f"{whose} was lost with it: {'; '.join(self.workers)}"


Result = Reply | Lost


def reply_of(result: Result) -> Reply:
    """The reply. Raises OptctxError without one, and for one that has an error."""
    if isinstance(result, Lost):
        raise OptctxError(f"cannot go on: {result}")
    if result.error:
        raise OptctxError(result.error)
    return result


@dataclass
class Task:
    """Work, and how it went so far. Its functions and arguments can be pickled."""

    key: Hashable
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    foresee: Callable[..., None] | None = None
    newest: Callable[[], Any] | None = None
    lost: list[str] = field(default_factory=list)  # workers
    refusals: int = 0
    errors: int = 0


class Workers(ABC):
    """Has tasks done by workers, which may differ from this process, and may die. A context manager, for one
    thread: leaving it cancels what has not begun.

    `refused` and `lost` say, in words, which workers were, and why.
    """

    def __init__(self, expected: Expected) -> None:
        self.expected = expected
        self.refused: list[str] = []
        self.lost: list[str] = []
        self._numbers = itertools.count()

    @abstractmethod
    def __enter__(self) -> Workers: ...

    @abstractmethod
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    @property
    @abstractmethod
    def count(self) -> int:
        """How many tasks are done at once, as far as that is known; 1 otherwise."""

    @abstractmethod
    def _start(self, task: Task) -> None:
        """Have a task done, for the first time or again."""

    @abstractmethod
    def _ended(self) -> list[tuple[Hashable, Result]]:
        """Wait until something has ended. May return nothing."""

    def submit(
        self,
        key: Hashable,
        function: Callable[..., Any],
        *arguments: Any,
        foresee: Callable[..., None] | None = None,
        newest: Callable[[], Any] | None = None,
    ) -> None:
        """Have a function of a module called with arguments, all of which can be pickled.

        `foresee`: another function, which a worker may call with the same arguments some time before.
        `newest`: gives one more argument, when the task is sent.
        """
        self._start(Task(key, function, arguments, foresee, newest))

    def results(self) -> list[tuple[Hashable, Result]]:
        """Wait for at least one result, under its key.

        Raises OptctxError if no worker can do it: all are refused, or none is left.
        """
        ended: list[tuple[Hashable, Result]] = []
        while not ended:
            ended = self._ended()
        return ended

    def do(self, function: Callable[..., Any], *arguments: Any) -> Reply:
        """Have one thing done while nothing else is. Raises OptctxError if it cannot be, and as it does."""
        self.submit("", function, *arguments)
        ((_, result),) = self.results()
        return reply_of(result)

    def expect_processor(self, model: str) -> None:
        """Refuse workers with another processor from now on."""
        self.expected = replace(self.expected, processor=model)

    def _work(self, task: Task) -> Work:
        """What is sent of a task, each time it is tried."""
        more = () if task.newest is None else (task.newest(),)
        return Work(task.refusals, next(self._numbers), task.function, (*task.arguments, *more), task.foresee)

    def _judge(self, task: Task, worker: str, reply: Reply) -> Result | None:
        """The result, or None if another worker has to do the task."""
        if reply.mismatches:
            self._refuse(worker, reply.mismatches)
            task.refusals += 1
            return None
        if reply.error:
            task.errors += 1
            return reply if task.errors >= _MOST_ERRORS else None
        return reply

    def _lose(self, task: Task, worker: str, why: str) -> Lost | None:
        """Count a lost worker. The result, if the task is not tried again."""
        if not any(each.startswith(f"{worker} (") for each in self.lost):
            self.lost.append(f"{worker} ({why})")
        task.lost.append(worker)
        return Lost(tuple(task.lost)) if len(task.lost) >= MOST_LOST else None

    def _refuse(self, worker: str, mismatches: tuple[Mismatch, ...]) -> None:
        words = f"{worker}: {'; '.join(map(str, mismatches))}"
        if words not in self.refused:
            self.refused.append(words)

    def _all_refused(self) -> OptctxError:
        return OptctxError(
            f"no worker can be used ({' | '.join(self.refused)}); install there what this process has"
        )
