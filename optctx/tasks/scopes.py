"""The scope that a task is in, and checks that its thread is in line with it.

A ContextVar holds the mark of the task's innermost scope, so scopes go wherever contextvars go: into tasks
made inside them, `asyncio.to_thread`, `copy_context().run`. LLVM sees the scopes of the thread. The native
module brings the two in line around every call into LLVM that Python code makes. Where the interpreter
reports switches of tasks, it also does so at every switch (design/tasks.md).

Workers of multiprocessing begin outside any scope, wherever they are forked (design/fork.md).
"""

from __future__ import annotations

import contextvars
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import cast

from optctx import _native
from optctx.engine.engine import Engine
from optctx.engine.host import host_of
from optctx.errors import ScopeError, shown
from optctx.locks import Rank, lock_held_by_fork
from optctx.values.layers import HasLayers

# Holds the mark of the task's innermost scope (native/python/marks.hpp).
_native.use_task_variable(contextvars.ContextVar("optctx"))

_lock = lock_held_by_fork(Rank.TASKS)


def entered(engine: Engine, what: str) -> HasLayers | None:
    """Return the innermost context of the engine's image that this task is in; None outside any.

    Raises ScopeError as `check_in_line` does.
    """
    if not _native.in_line():
        check_in_line(None, what)
    return cast("HasLayers | None", _native.task_owner(engine.index))


def check_in_line(context: object, verb: str) -> None:
    """Raise ScopeError if this thread is inside a scope of another task that is suspended there.

    `verb`: what is about to be done, to a context if that is not None. Code that is called inside that scope
    does not count as another task, even in another contextvars.Context: the scope is further out on this
    thread, not suspended.
    """
    inside = _native.suspended()
    if inside is None:
        return
    what = verb if context is None else f"{verb} {shown(context)}"
    here = _native.task_owner()
    task = "a task outside any scope" if here is None else f"a task inside {shown(here)}"
    raise ScopeError(
        f"cannot {what} in {task}: its thread is still inside {shown(inside)}, which "
        "another task entered that is suspended inside it; before Python 3.14 a scope must not be held "
        "across an `await`: leave it before, or put what awaits nothing into a function and "
        "`await asyncio.to_thread(context.run, function)`"
    )


@cache
def follow_tasks(engine: Engine) -> None:
    """Make every call through the image's host, from now on, see the scope of its task.

    Where the interpreter reports switches of tasks, all calls into LLVM do. If the host does not report its
    calls, only switches are followed. If an exception interrupts it, the next call completes it. Later ones
    do nothing.
    """
    with _lock:  # each step is atomic and happens only once, so an interrupted call can be repeated
        _native.watch_context_switches()
        host_of(engine.image).follow_calls(library_calls(engine))


@cache
def library_calls(engine: Engine) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return the callbacks for the beginning and end of a call through the host: always the same pair."""
    return _native.library_calls(engine.index)


_told: list[object] = []  # multiprocessing.util, once `_begin` is registered there


def _tell_multiprocessing() -> None:
    """Register `_begin`, before a fork. multiprocessing calls it in the children that it forks itself."""
    util = sys.modules.get("multiprocessing.util")
    if util is not None and util not in _told:
        util.register_after_fork(_begin, _begin)  # for as long as the first of them lives
        _told.append(util)


def _begin(_: object) -> None:
    """Leave every scope and recording of this thread and task. In a worker process no other code would."""
    _native.leave_all()


os.register_at_fork(before=_tell_multiprocessing)
