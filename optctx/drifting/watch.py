"""`watch()`: calls a function whenever code gives LLVM a value for an option, with both stacks."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from optctx._native import (
    WatcherBase,
    add_watcher,
    demangle,
    native_stack,
    remove_watcher,
    set_callbacks,
    symbol_near,
    watchers,
)
from optctx.engine.attach import attach, engine_of
from optctx.engine.engine import Engine
from optctx.errors import OptionTypeError, UnsupportedImageError, shown
from optctx.image.loaded import Image
from optctx.tasks.problems import tell_of


@dataclass(frozen=True)
class DriftEvent:
    """A value that code gave to an option for the whole process.

    Attributes:
        name: The option.
        text: What LLVM was given; None for a flag without a value.
        refused: Whether LLVM refused `text`. The option counts as given in any case.
        thread: Name of the thread; empty for a thread that Python did not start.
        stack: The Python stack, innermost call last.
        native_stack: LLVM's functions and the code that called them, innermost first.
    """

    name: str
    text: str | None
    refused: bool
    thread: str
    stack: traceback.StackSummary = field(repr=False)
    native_stack: tuple[str, ...] = field(repr=False)

    def __str__(self) -> str:
        """Return one line for reports."""
        given = "" if self.text is None else f" to {self.text!r}"
        refused = ", which LLVM refused," if self.refused else ""
        thread = self.thread or "that is not Python's"
        return f"LLVM option {self.name!r} was set process-wide{given}{refused} by thread {thread}"

    def report(self) -> str:
        """Return the change and both stacks as several lines of text."""
        native = "".join(f"  {each}\n" for each in self.native_stack)
        parts = [f"{self}\n"]
        if self.stack:
            parts += ["Python, innermost call last:\n", *self.stack.format()]
        if native:
            parts += ["LLVM, innermost call first:\n", native]
        return "".join(parts)


Callback: TypeAlias = Callable[[DriftEvent], object]


class Watcher(WatcherBase):
    """Calls its function from the call of `watch` until `close`, or until its `with` block ends.

    Any thread can close a watcher.
    """

    def __init__(self, callback: Callback, engine: Engine) -> None:
        self._callback = callback
        self._engine = engine

    @property
    def closed(self) -> bool:
        """Whether it has stopped reporting."""
        return not any(each is self for each in watchers(self._engine.index))

    def close(self) -> None:
        """End the watch. A second call does nothing."""
        remove_watcher(self)

    def __repr__(self) -> str:
        return f"<Watcher: {'closed' if self.closed else 'open'}>"


def watch(callback: Callback, *, image: Image | None = None) -> Watcher:
    """Call a function whenever code gives an option a value process-wide, from now on and on all threads.

    LLVM's parsers are watched, which llvmlite's `set_option` and LLVM's own setters call. Values that code
    writes past them are not reported; `drift()` lists those. What a scope contains is not reported. After a
    fork, the child continues to watch.

    Reaches the whole process: setting an option takes longer until the last watcher is closed. Attaches at
    first use.

    Args:
        callback: Called with a DriftEvent, on the thread that sets the option, inside LLVM's parser and with
            llvmlite's lock held. It must not compile, set options, or wait for a thread that uses LLVM. The
            call of llvmlite's that set the option raises what it raises; the option stays set. If no such
            call can raise it, `sys.unraisablehook` gets it.
        image: Of which LLVM, from `loaded_image`; None means llvmlite's.

    Raises:
        OptionTypeError: `callback` cannot be called, or `image` is not an image.
        UnsupportedImageError: LLVM cannot be watched. Nothing was changed.
    """
    if not callable(callback):
        raise OptionTypeError(f"watch takes a function of one DriftEvent, found {shown(callback)}")
    engine = attach(image)
    watcher = Watcher(callback, engine)
    try:
        # In one step, for the whole process: optctx/plan/ways_in.py finds the pointers that lead here.
        add_watcher(engine.index, watcher, engine.setters)
    except RuntimeError as error:
        raise UnsupportedImageError(f"cannot watch LLVM's options: {error}; nothing was changed") from error
    except BaseException:
        remove_watcher(watcher)
        raise
    return watcher


# What native code calls, inside LLVM, on any thread. The stacks end with the code that called LLVM.


def _option_given(image: int, address: int, text: bytes | None, refused: bool) -> None:
    """Report what LLVM has parsed."""
    engine = engine_of(image)
    option = engine.plan.options.get(address)
    told = [each for each in watchers(image) if isinstance(each, Watcher)]
    if option is None or not told:
        return
    ident = threading.get_ident()
    event = DriftEvent(
        option.name,
        None if text is None else text.decode(errors="backslashreplace"),
        refused,
        next((each.name for each in threading.enumerate() if each.ident == ident), ""),
        _python_stack(),
        _native_stack(engine.image),
    )
    for watcher in told:
        try:
            watcher._callback(event)
        except Exception as error:  # the enclosing call raises it
            tell_of(image, error)


set_callbacks(option_given=_option_given)


def _python_stack() -> traceback.StackSummary:
    """Return the stack of this thread, from the innermost frame that is not of this module."""
    frames = [
        traceback.FrameSummary(frame.f_code.co_filename, line or 1, frame.f_code.co_name, lookup_line=False)
        for frame, line in traceback.walk_stack(sys._getframe(2))
    ]
    return traceback.StackSummary.from_list(frames[::-1])


def _native_stack(image: Image) -> tuple[str, ...]:
    """Name LLVM's functions, innermost first, then the function outside LLVM that called them."""
    found: list[str] = []
    for address in native_stack():
        function = image.function_at(address) if image.contains(address) else None
        if function is not None:
            found.append(demangle(function.name))
        elif found:
            name, library = symbol_near(address)
            file = os.path.basename(library) or "unknown code"
            found.append(f"{demangle(name)} ({file})" if name else file)
            break
    return tuple(found)
