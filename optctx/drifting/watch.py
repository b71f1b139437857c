"""`watch()`: calls a function whenever code gives LLVM a value for an option, with both stacks."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import NoReturn, TypeAlias

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
from optctx.drifting.drift import times
from optctx.engine.attach import attach, engine_of
from optctx.engine.engine import Engine
from optctx.errors import OptionTypeError, ScopeError, UnsupportedImageError, shown
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.tasks.problems import tell_of
from optctx.values.read_values import Value
from optctx.values.states import State, live_state, shown_state


@dataclass(frozen=True)
class DriftEvent:
    """A change of an option's process-wide value or, if `contained`, of its value inside a scope.

    Attributes:
        name: The option.
        before: The value before; None for a type without a readable form.
        after: The value after; None for a type without a readable form.
        occurrences: How often the option had been given by then.
        text: What LLVM was given; None for a flag without a value.
        refused: Whether LLVM refused `text`. The option counts as given in any case.
        thread: Name of the thread; empty for a thread that Python did not start.
        thread_id: Its identifier.
        stack: The Python stack, innermost call last.
        native_stack: LLVM's functions and the code that called them, innermost first.
        readable: Whether the type has a readable form.
        contained: Whether the value was set inside a scope and ends with it. The process-wide value did not
            change. `before`, `after` and `occurrences` are those of the scope.
    """

    name: str
    before: Value
    after: Value
    occurrences: int
    text: str | None
    refused: bool
    thread: str
    thread_id: int
    stack: traceback.StackSummary = field(repr=False)
    native_stack: tuple[str, ...] = field(repr=False)
    readable: bool = True
    contained: bool = False

    def __str__(self) -> str:
        """Return one line for reports."""
        change = f" from {self.before!r} to {self.after!r}" if self.readable else self._given()
        refused = f"; LLVM refused {self.text!r}" if self.refused else ""
        change += f" ({times(self.occurrences)}{refused})"
        thread = self.thread or f"{self.thread_id}, which is not Python's"
        where = "inside a scope" if self.contained else "process-wide"
        return f"LLVM option {self.name!r} was set {where}{change} by thread {thread}"

    def _given(self) -> str:
        """Write the end of the sentence for a type without a readable form."""
        return f" to what {self.text!r} says" if self.text is not None else ""

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

    Any thread can close a watcher. Entering one that is closed raises ScopeError.
    """

    def __init__(self, callback: Callback, engine: Engine, contained: bool) -> None:
        self._callback = callback
        self._engine = engine
        self._contained = contained  # whether it reports contained values, too

    @property
    def closed(self) -> bool:
        """Whether it has stopped reporting."""
        return not any(each is self for each in watchers(self._engine.index))

    def close(self) -> None:
        """End the watch. A second call does nothing."""
        remove_watcher(self)

    def _cannot_enter(self) -> NoReturn:
        """Raise, for `__enter__` of a watcher that is closed: it would report nothing."""
        raise ScopeError(f"cannot enter {self!r}: it is closed; call watch() again")

    def __repr__(self) -> str:
        return f"<Watcher: {'closed' if self.closed else 'open'}>"


def watch(callback: Callback, *, contained: bool = False, image: Image | None = None) -> Watcher:
    """Call a function whenever code sets an option process-wide, from now on and on all threads.

    LLVM's parsers are watched, which llvmlite's `set_option` and LLVM's own setters call. Values that code
    writes past them are not reported; `drift()` lists those. Changes that contexts make are not reported.
    After a fork, the child continues to watch.

    Reaches the whole process: setting an option takes longer until the last watcher is closed. Attaches at
    first use.

    Args:
        callback: Called with a DriftEvent, on the thread that sets the option, inside LLVM's parser and with
            llvmlite's lock held. It must not compile, set options, or wait for a thread that uses LLVM. The
            call of llvmlite's that set the option raises what it raises; the option stays set. If no such
            call can raise it, `sys.unraisablehook` gets it.
        contained: Whether to also report values that code gives to LLVM's setters inside scopes that contain
            them. They change no process-wide value.
        image: Of which LLVM, from `loaded_image`; None means llvmlite's.

    Raises:
        OptionTypeError: `callback` cannot be called, or `image` is not an image.
        UnsupportedImageError: LLVM cannot be watched. Nothing was changed.
    """
    if not callable(callback):
        raise OptionTypeError(f"watch takes a function of one DriftEvent, found {shown(callback)}")
    engine = attach(image)
    watcher = Watcher(callback, engine, contained)
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

_Begun: TypeAlias = tuple[RegisteredOption, State, "State | None"]


def _begins(image: int, address: int) -> _Begun | None:
    """Return the option that LLVM is about to parse a value for, with its state, here and in the scope."""
    engine = engine_of(image)
    option = engine.plan.options.get(address) if watchers(image) else None
    return None if option is None else (option, live_state(option), shown_state(engine, option))


def _ends(image: int, begun: _Begun, text: bytes | None, refused: bool, contained: bool) -> None:
    """Report what LLVM has parsed."""
    engine = engine_of(image)
    option, before, inside = begun
    after: State | None = live_state(option)
    if contained:
        if inside is None or refused:
            return
        before, after = inside, shown_state(engine, option)
    elif after == before:
        return
    told = [each for each in watchers(image) if isinstance(each, Watcher)]
    told = [each for each in told if each._contained or not contained]
    if after is None or not told:
        return
    ident = threading.get_ident()
    event = DriftEvent(
        option.name,
        before.value,
        after.value,
        after.occurrences,
        None if text is None else text.decode(errors="backslashreplace"),
        refused,
        next((each.name for each in threading.enumerate() if each.ident == ident), ""),
        ident,
        _python_stack(),
        _native_stack(engine.image),
        after.readable,
        contained,
    )
    for watcher in told:
        try:
            watcher._callback(event)
        except Exception as error:  # the enclosing call raises it
            tell_of(engine.image, error)


set_callbacks(occurrence_begins=_begins, occurrence_ends=_ends)


def _python_stack() -> traceback.StackSummary:
    """Return the stack of this thread, from the innermost frame that is not of this module."""
    frame: FrameType | None = sys._getframe(2)
    frames = []
    while frame is not None:
        frames.append(
            traceback.FrameSummary(
                frame.f_code.co_filename, frame.f_lineno or 1, frame.f_code.co_name, lookup_line=False
            )
        )
        frame = frame.f_back
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
