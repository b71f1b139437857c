"""Warns of a deadlock: a thread that waits to enter, and one inside a process-wide context that waits for it.

What a thread waits for cannot be known. A thread counts as waiting if it stands still in a function of the
standard library that waits.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from types import CodeType, FrameType

from optctx.errors import DeadlockWarning, level_outside

__all__ = ["warn_of_deadlock"]

_PATIENCE = 3.0  # seconds for which the other thread has to stand still
_LONGEST_GAP = 1.0  # seconds between two looks at it
_WAITING = ("threading", "queue", "selectors", "subprocess", "concurrent", "multiprocessing", "asyncio")

Place = tuple[tuple[CodeType, int], ...]


class _Wait(threading.local):
    """What this thread has seen of the others: thread -> (where it stands, since when, last seen there)."""

    def __init__(self) -> None:
        self.places: dict[int, tuple[Place, float, float]] = {}
        self.told: set[Place] = set()


_wait = _Wait()


def warn_of_deadlock(threads: list[int]) -> None:
    """Warn, on a thread that waits for `threads` to leave a context, if one of them has stopped to wait.

    Each place is named once for each waiting thread. Called several times a second.
    """
    frames = sys._current_frames()
    now = time.monotonic()
    for thread in threads:
        frame = frames.get(thread)
        if frame is None or not _waits(frame):
            _wait.places.pop(thread, None)
            continue
        place = _place(frame)
        before, since, last = _wait.places.get(thread, (None, now, now))
        if before != place or now - last > _LONGEST_GAP:
            since = now
        _wait.places[thread] = place, since, now
        if now - since > _PATIENCE and place not in _wait.told:
            _wait.told.add(place)
            warnings.warn(_message(thread, frame), DeadlockWarning, stacklevel=level_outside())


def _waits(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0] in _WAITING


def _place(frame: FrameType | None) -> Place:
    place = []
    while frame is not None:
        place.append((frame.f_code, frame.f_lasti))
        frame = frame.f_back
    return tuple(place)


def _message(thread: int, frame: FrameType) -> str:
    names = {each.ident: each.name for each in threading.enumerate()}
    outer: FrameType = frame
    while _waits(outer) and outer.f_back is not None:
        outer = outer.f_back
    where = f"{os.path.basename(outer.f_code.co_filename)}:{outer.f_lineno}"
    return (
        f"{threading.current_thread().name} waits to enter a context until {names.get(thread, thread)} has "
        f'left one with process_wide="exclusive", which waits itself in {outer.f_code.co_name} ({where}): if '
        "it waits for this thread, neither goes on; leave the context before waiting for other threads"
    )
