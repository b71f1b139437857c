"""`drift()`: options whose process-wide state is not the registered one; an event is one change of one."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import FrameType

from optctx._native import demangle, native_stack, symbol_near
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.engine.host import default_host
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.values.read_values import Value
from optctx.values.states import OutsideStates, State, drifted_states, registered_state
from optctx.wording import html_table

_NAMED = 8  # options in a short text
_OWN = __name__.rpartition(".")[0]


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
        """Return one line for reports."""
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
    between = ("optctx", default_host().package)  # packages that a warning points past
    outside = (each for each in frames if _package(each) not in between)
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
    """Return the frames of this thread, innermost first, from the first one outside optctx.drifting."""
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


@dataclass(frozen=True)
class Drift:
    """An option whose process-wide value is not the registered one.

    Attributes:
        name: The option.
        registered: The value that `cl::init` gave; None for a type without a readable form.
        value: The process-wide value now; None for a type without a readable form.
        occurrences: How often the option was given; 0 if code wrote the variable instead. LLVM can treat an
            option that was given its registered value differently from one that was not given.
        readable: Whether the type has a readable form.
    """

    name: str
    registered: Value
    value: Value
    occurrences: int
    readable: bool = True

    @property
    def given(self) -> bool:
        """Whether the option was given, as on a command line."""
        return self.occurrences != 0

    def __str__(self) -> str:
        """Return one line for reports."""
        if not self.readable:
            return f"{self.name}: {times(self.occurrences)} (its type has no readable form)"
        return (
            f"{self.name}: {self.registered!r} was registered, {self.value!r} now ({times(self.occurrences)})"
        )


class Drifts(Mapping[str, Drift]):
    """Every option that was set process-wide, by name. `str()` gives a line for each. Immutable."""

    def __init__(self, found: Mapping[str, Drift]) -> None:
        self._found = dict(found)

    def __getitem__(self, name: str) -> Drift:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __str__(self) -> str:
        return "\n".join(map(str, self._found.values())) or "every option is as it was registered"

    def __repr__(self) -> str:
        named = list(self._found)[:_NAMED]
        more = len(self._found) - len(named)
        return f"<Drifts: {', '.join(named) or 'none'}{f' and {more:,} more' if more else ''}>"

    def _repr_html_(self) -> str:
        headings = ("option", "registered", "now", "given")
        rows = ((d.name, str(d.registered), str(d.value), times(d.occurrences)) for d in self._found.values())
        return html_table("Options that were set process-wide", headings, rows, len(self._found))


def drift(image: Image | None = None) -> Drifts:
    """List the options that differ, for the whole process, from what LLVM registered.

    An option differs by its value, or because it was given. Another library in the process can have set it
    through llvmlite's `set_option` or directly, at any time, or LLVM wrote it outside all contexts. An alias
    counts as the option that it stands for. Changes that contexts make are left out, including those of
    `process_wide="exclusive"`. Attaches at first use; changes nothing. `image`: of which LLVM, from
    `loaded_image`; None means llvmlite's.

    Raises:
        UnsupportedImageError: The process has no LLVM that optctx can use.
        OptionTypeError: `image` is not an image.
    """
    engine = attach(image)
    states = drifted_states(engine, engine.space.drift())
    outside = OutsideStates(refused(engine))
    states.update(outside.read(outside.copy()))
    found = []
    for address, state in states.items():
        option = engine.plan.options[address]
        registered = registered_state(engine, option)
        if state != registered:
            found.append(_drift(option.name, registered, state))
    return Drifts({each.name: each for each in sorted(found, key=lambda each: each.name)})


def refused(engine: Engine) -> list[RegisteredOption]:
    """List the options that contexts have no storage for, without aliases."""
    options = engine.plan.options.values()
    return [each for each in options if not each.alias_of and each.slot is None]


def times(count: int) -> str:
    """Say in words how often an option was given."""
    if count == 0:
        return "not given"
    return "given once" if count == 1 else f"given {count} times"


def _drift(name: str, registered: State, now: State) -> Drift:
    return Drift(name, registered.value, now.value, now.occurrences, now.readable)
