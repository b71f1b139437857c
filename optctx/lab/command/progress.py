"""How far an experiment has come: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import TimeRemainingColumn

from optctx.lab.command.console import bar, complain

__all__ = ["duration", "progress_bar"]

_FIRST, _LATER = 5.0, 30.0  # seconds before a line, and between lines


@contextmanager
def progress_bar(what: str = "compiling") -> Iterator[Callable[[int], None]]:
    """Show on standard error how many compilations are done during the block.

    Yields a function to call after each one, on any thread, with the total number of them.
    """
    with bar(what, TimeRemainingColumn()) as shown:
        if not shown.disable:
            task = shown.add_task("", total=None)
            yield lambda total: shown.update(task, total=total, advance=1)
            return
        began = time.monotonic()
        said, done = began + _FIRST - _LATER, 0

        def step(total: int) -> None:
            nonlocal said, done
            done += 1
            now = time.monotonic()
            if now - said >= _LATER and done < total:
                said = now
                left = (now - began) / done * (total - done)
                complain(f"{what}: {done:,} of {total:,}, {duration(left)} left")

        yield step


def duration(seconds: float) -> str:
    """A time for people: "40 s", "3 min"."""
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
