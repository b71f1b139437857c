"""One change of an option's value, with the thread and the stacks when it was seen."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from dataclasses import dataclass, field
from types import FrameType

from optctx._native import Image, demangle, native_stack, symbol_near
from optctx.drifting.drift import times
from optctx.registry.values import Value

__all__ = ["DriftEvent", "Moment", "here"]

_OWN = __name__.rpartition(".")[0]
_BETWEEN = ("optctx", "llvmlite")  # packages that a warning points past


@dataclass(frozen=True)
class DriftEvent:
    """A change of an option's process-wide value or, if `contained`, of its value inside a scope.

    Attributes:
        name: The option.
        before: The value before; None for a type without a readable form.
        after: The value after; None for a type without a readable form.
        occurrences: How often the option had been given by then.
        exact: Whether the change was seen as it happened. Otherwise it was found later by comparing, and
            `thread` and the stacks are those of the call that found it.
        text: What LLVM was given; None for a flag without a value.
        refused: Whether LLVM refused `text`. The option counts as given in any case.
        thread: Name of the thread; empty for a thread that Python did not start.
        thread_id: Its identifier.
        stack: The Python stack, innermost call last.
        native_stack: LLVM's functions and the code that called them, innermost first; empty if the change was
            found by comparing.
        readable: Whether the type has a readable form.
        contained: Whether the value was set inside a scope and ends with it. The process-wide value did not
            change. `before`, `after` and `occurrences` are those of the scope.
    """

    name: str
    before: Value
    after: Value
    occurrences: int
    exact: bool
    text: str | None
    refused: bool
    thread: str
    thread_id: int
    stack: traceback.StackSummary = field(repr=False)
    native_stack: tuple[str, ...] = field(repr=False)
    readable: bool = True
    contained: bool = False

    def __str__(self) -> str:
        """One line, for reports."""
        change = f" from {self.before!r} to {self.after!r}" if self.readable else self._given()
        refused = f"; LLVM refused {self.text!r}" if self.refused else ""
        change += f" ({times(self.occurrences)}{refused})"
        thread = self.thread or f"{self.thread_id}, which is not Python's"
        where = "inside a scope" if self.contained else "process-wide"
        how = f"was set {where}{change} by thread {thread}"
        if not self.exact:
            how = f"has been changed process-wide{change}; this was noticed in thread {thread}"
        return f"LLVM option {self.name!r} {how}"

    def _given(self) -> str:
        """The end of the sentence for a type without a readable form."""
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


@dataclass(frozen=True)
class Moment:
    """A thread and its stacks at one moment. `place`: the file, line and module that a warning points at."""

    thread: str
    thread_id: int
    stack: traceback.StackSummary
    native_stack: tuple[str, ...]
    place: tuple[str, int, str]


def here(image: Image | None = None) -> Moment:
    """Record this moment of this thread, with the native stack if `image` is given."""
    ident = threading.get_ident()
    name = next((each.name for each in threading.enumerate() if each.ident == ident), "")
    frames = _frames()
    outside = (each for each in frames if _package(each) not in _BETWEEN)
    user = next(outside, frames[0] if frames else None)
    place = ("<native code>", 1, "")
    if user is not None:
        place = (user.f_code.co_filename, user.f_lineno or 1, user.f_globals.get("__name__", ""))
    stack = traceback.StackSummary.from_list(
        [
            traceback.FrameSummary(
                each.f_code.co_filename, each.f_lineno or 1, each.f_code.co_name, lookup_line=False
            )
            for each in reversed(frames)
        ]
    )
    return Moment(name, ident, stack, () if image is None else _native_stack(image), place)


def _frames() -> list[FrameType]:
    """The frames of this thread, innermost first, from the first one outside optctx.drifting."""
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frames or not str(frame.f_globals.get("__name__", "")).startswith(_OWN):
            frames.append(frame)
        frame = frame.f_back
    return frames


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _native_stack(image: Image) -> tuple[str, ...]:
    """LLVM's functions, innermost first, then the function outside LLVM that called them."""
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
