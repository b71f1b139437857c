"""Has LLVM tell when it gives a value to an option, while there is a watcher (optctx/engine/setters.py)."""

from __future__ import annotations

from collections.abc import Callable

from optctx._native import WatcherBase, add_watcher, set_call_listeners, set_occurrence_listeners
from optctx.context.enclosing import when_returning
from optctx.context.scope import follow_tasks
from optctx.engine.attach import Engine
from optctx.errors import UnsupportedImageError

__all__ = ["Interception", "Listeners"]


class Listeners:
    """What is called while there is a watcher, on any thread; nothing in it may raise.

    `begins(image, option)` and `ends(image, option, text, refused, contained)` around LLVM's parse of one
    value, in the middle of its work; `call_begins` and `call_ends` around every call that llvmlite makes,
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
        """Have native code call them, from the first call on."""
        if not self._are_set:
            set_occurrence_listeners(self.begins, self.ends)
            set_call_listeners(self.call_begins, self.call_ends)
            self._are_set = True


class Interception:
    """Made once for an image, off. `returning` is called where the enclosing call can still raise."""

    def __init__(self, engine: Engine, listeners: Listeners, returning: Callable[[], None]) -> None:
        """Changes nothing yet."""
        self._engine = engine
        listeners.set()
        when_returning(returning)

    def add(self, watcher: WatcherBase) -> None:
        """Reaches the whole process, in one step. Raises UnsupportedImageError with nothing changed."""
        follow_tasks(self._engine)  # llvmlite tells of its calls from then on
        try:
            add_watcher(self._engine.index, watcher, self._engine.mechanism.setters)
        except RuntimeError as error:
            raise UnsupportedImageError(
                f"cannot watch LLVM's options: {error}; nothing was changed"
            ) from error
