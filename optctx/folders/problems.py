"""Warnings of a compile cache: the first problem of each kind, and no more."""

from __future__ import annotations

import enum
import warnings

from optctx.errors import CacheWarning, level_outside

__all__ = ["Problem", "Problems"]


class Problem(enum.Enum):
    """Kinds of problem, each with a remedy of its own."""

    FOLDER = enum.auto()  # it cannot be opened, or is refused
    ENTRY = enum.auto()  # damaged, planted or unreadable
    WRITING = enum.auto()
    CLEARING = enum.auto()


class Problems:
    """What went wrong with one cache. Safe on any number of threads."""

    def __init__(self) -> None:
        self._reported: dict[Problem, object] = {}

    def report(self, kind: Problem, text: str) -> None:
        """Warn the caller of optctx, unless this cache has reported a problem of that kind before."""
        mine = object()
        if self._reported.setdefault(kind, mine) is mine:
            warnings.warn(text, CacheWarning, stacklevel=level_outside())
