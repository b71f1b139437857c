"""Calls back when LLVM gives a value to an option, while there is a watcher (optctx/plan/ways_in.py)."""

from __future__ import annotations

from collections.abc import Callable

from optctx._native import WatcherBase, add_watcher, set_callbacks
from optctx.engine.engine import Engine
from optctx.errors import UnsupportedImageError
from optctx.tasks.problems import when_returning
from optctx.tasks.scopes import follow_tasks

__all__ = ["Interception", "Listeners"]


class Listeners:
    """Functions that native code calls while there is a watcher, on any thread. They must not raise.

    `begins(image, option)` and `ends(image, option, text, refused, contained)` are called around LLVM's parse
    of one value, inside LLVM. `call_begins` and `call_ends` are called around every call through llvmlite,
    with its lock held.
    """

    def __init__(
        self,
        begins: Callable[[int, int], None],
        ends: Callable[[int, int, bytes | None, bool, bool], None],
        call_begins: Callable[[], None],
        call_ends: Callable[[], None],
    ) -> None:
        self.begins = begins
        self.ends = ends
        self.call_begins = call_begins
        self.call_ends = call_ends
        self._are_set = False

    def set(self) -> None:
        """Hand the functions to native code. A second call does nothing."""
        if not self._are_set:
            set_callbacks(
                occurrence_begins=self.begins,
                occurrence_ends=self.ends,
                call_begins=self.call_begins,
                call_ends=self.call_ends,
            )
            self._are_set = True


class Interception:
    """The interception of one image, made once, initially off.

    `returning` is called at the end of each call that runs LLVM, from where that call can still raise.
    """

    def __init__(self, engine: Engine, listeners: Listeners, returning: Callable[[], None]) -> None:
        """Change nothing yet."""
        self._engine = engine
        listeners.set()
        when_returning(returning)

    def add(self, watcher: WatcherBase) -> None:
        """Add a watcher for the whole process, in one step.

        Raises UnsupportedImageError if that fails; then nothing was changed.
        """
        follow_tasks(self._engine)  # llvmlite reports its calls from now on
        try:
            add_watcher(self._engine.index, watcher, self._engine.setters)
        except RuntimeError as error:
            raise UnsupportedImageError(
                f"cannot watch LLVM's options: {error}; nothing was changed"
            ) from error
