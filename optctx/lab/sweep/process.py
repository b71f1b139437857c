"""The helper process of a sweep, as the calling process sees it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from optctx.errors import OptctxError
from optctx.fresh.exchange import Exchange
from optctx.fresh.helper import last_line
from optctx.lab.sweep.plan import Answer, Asked, Plan, Ready

__all__ = ["SweepProcess"]


class SweepProcess(Exchange):
    """Compiles the combinations of a plan in other processes, so a crash of LLVM does not end this one.

    A context manager, for one thread. Leaving it ends the helper and every process that it started.
    """

    def __init__(self) -> None:
        super().__init__("optctx.lab.sweep.supervisor")

    def prepare(self, plan: Plan) -> tuple[str, ...]:
        """Send the plan. Returns the errors that each job has under any options; "" for none."""
        self.send(plan)
        (ready,) = self.receive()
        assert isinstance(ready, Ready)
        return ready.errors

    def compile(self, numbers: Iterable[int]) -> Iterator[Answer]:
        """Compile combinations and yield each answer as it comes. Raises OptctxError if the helper dies."""
        order = list(numbers)
        waiting = set(order)
        self.send(order)
        while waiting:
            for answer in self.receive():
                waiting.discard(answer.number)
                yield answer

    def ask(self, asked: Iterable[Asked]) -> None:
        """Have more compiled, before or after earlier answers. Raises OptctxError if the helper dies."""
        self.send(list(asked))

    def answers(self) -> list[Answer]:
        """Wait for answers to what was asked, in any order. Raises OptctxError if the helper dies."""
        return self.receive()

    def send(self, message: object) -> None:
        """Send a message. Raises OptctxError if the helper has ended."""
        try:
            super().send(message)
        except BrokenPipeError:
            raise self._died() from None

    def receive(self, seconds: float | None = None) -> list[Any]:
        """Wait for messages. Raises OptctxError if the helper has ended."""
        messages = super().receive(seconds)
        if not messages:
            raise self._died()
        return messages

    def _died(self) -> OptctxError:
        status, printed = self.ended()
        why = f"{status}{last_line(printed)}"
        return OptctxError(f"the helper process of the sweep ended with status {why}; run the sweep again")
