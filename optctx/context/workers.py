"""Workers of multiprocessing begin outside any scope, whichever scope they were forked in (design/fork.md)."""

from __future__ import annotations

import os
import sys

from optctx.context.scope import begin_outside

__all__: list[str] = []


class _Worker:
    """What multiprocessing keeps the function below under, as long as it lives."""


_worker = _Worker()
_told: list[object] = []  # modules that know of `_begin`


def _tell_multiprocessing() -> None:
    """Before a fork, which may be multiprocessing's: it runs `_begin` in its own children alone."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and util not in _told:
        util.register_after_fork(_worker, _begin)
        _told.append(util)


def _begin(_: _Worker) -> None:
    begin_outside()


os.register_at_fork(before=_tell_multiprocessing)
