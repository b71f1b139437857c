"""The combinations that wait: some for threads, and suspects that are compiled alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from optctx.lab.sweep.plan import Asked

__all__ = ["Backlog"]

_Setting = tuple[int, str, str]  # (job, option, value)


class Backlog:
    """The numbers of the combinations that still have to be compiled.

    A combination is a suspect if it was being compiled when its process died, or if it has a setting with
    which every combination so far crashed or timed out. Suspicion decides where a combination is compiled,
    never what its row says.
    """

    def __init__(self, asked: Callable[[int], Asked]) -> None:
        """`asked`: what a number stands for."""
        self._asked = asked
        self._pending: deque[int] = deque()
        self._suspects: deque[tuple[int, bool]] = deque()  # (number, whether it must be compiled alone)
        self._bad: set[_Setting] = set()
        self._good: set[_Setting] = set()

    def __bool__(self) -> bool:
        return bool(self._pending or self._suspects)

    @property
    def pending(self) -> bool:
        """Whether any combination waits for a thread."""
        return bool(self._pending)

    def add(self, numbers: Iterable[int]) -> None:
        """Enter combinations."""
        for number in numbers:
            self._place(number)

    def give_back(self, numbers: Iterable[int]) -> None:
        """Enter combinations again, ahead of the others, that no thread had started."""
        self._pending.extendleft(reversed(list(numbers)))

    def accuse(self, number: int) -> None:
        """Enter a combination that has to be compiled alone."""
        self._suspects.appendleft((number, True))

    def next_pending(self) -> int:
        """Take a combination for a thread."""
        return self._pending.popleft()

    def next_alone(self) -> int | None:
        """Take a suspect, or return None. Suspects that were cleared wait for a thread again."""
        while self._suspects:
            number, always = self._suspects.popleft()
            if always or self._suspicious(number):
                return number
            self._pending.append(number)
        return None

    def survived(self, number: int) -> None:
        """Clear the settings of a combination whose process survived."""
        self._good.update(self._settings(number))

    def died(self, number: int) -> None:
        """Suspect every combination with a setting of this one that none has survived."""
        new = {setting for setting in self._settings(number) if setting not in self._good} - self._bad
        if new:
            self._bad |= new
            waiting, self._pending = self._pending, deque()
            self.add(waiting)

    def _place(self, number: int) -> None:
        if self._suspicious(number):
            self._suspects.append((number, False))
        else:
            self._pending.append(number)

    def _suspicious(self, number: int) -> bool:
        return bool(self._bad) and any(
            setting in self._bad and setting not in self._good for setting in self._settings(number)
        )

    def _settings(self, number: int) -> list[_Setting]:
        asked = self._asked(number)
        return [(asked.job, name, value) for name, value in asked.options.items()]
