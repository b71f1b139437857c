"""Makes multiprocessing's workers begin outside any scope, wherever they are forked (design/fork.md)."""

from __future__ import annotations

import os
import sys

from optctx.context.scope import begin_outside

__all__: list[str] = []


class _Worker:
    """The object that `_begin` is registered for: multiprocessing calls `_begin` while the object lives."""


_worker = _Worker()
_told: list[object] = []  # multiprocessing.util, once `_begin` is registered there


def _tell_multiprocessing() -> None:
    """Register `_begin`, before a fork. multiprocessing calls it in the children that it forks itself."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and util not in _told:
        util.register_after_fork(_worker, _begin)
        _told.append(util)


def _begin(_: _Worker) -> None:
    begin_outside()


os.register_at_fork(before=_tell_multiprocessing)
