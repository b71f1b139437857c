"""Has the workers of multiprocessing begin outside any scope, wherever they were forked (design/fork.md)."""

from __future__ import annotations

import os
import sys

from optctx.context.scope import begin_outside

__all__: list[str] = []


class _Worker:
    """An object for multiprocessing, which calls the function below while the object lives."""


_worker = _Worker()
_told: list[object] = []  # multiprocessing.util, from the first fork with it on


def _tell_multiprocessing() -> None:
    """Before a fork. multiprocessing runs `_begin` in the children that it forks, and in no other."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and util not in _told:
        util.register_after_fork(_worker, _begin)
        _told.append(util)


def _begin(_: _Worker) -> None:
    begin_outside()


os.register_at_fork(before=_tell_multiprocessing)
