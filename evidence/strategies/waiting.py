"""A strategy whose users wait for each other."""

from __future__ import annotations

from collections.abc import Callable

from evidence.strategies.strategy import Strategy
from optctx.locks import condition_left_behind

__all__ = ["WaitingStrategy"]


class WaitingStrategy(Strategy):
    """Guards what it knows of its users by a condition, which it tells of every change."""

    def __init__(self) -> None:
        super().__init__()
        self._changed = condition_left_behind()

    def _wait_while(self, is_taken: Callable[[], bool]) -> None:
        """Call with the condition's lock held."""
        while is_taken():
            self.when_waiting()
            self._changed.wait()

    def _wake(self) -> None:
        """Call with the condition's lock held."""
        self.when_waking()
        self._changed.notify_all()
