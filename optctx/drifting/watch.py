"""`watch()`: watchers that report every change of a process-wide value, on all threads."""

from __future__ import annotations

import atexit
import os
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import NamedTuple, NoReturn

from optctx._native import (
    WatcherBase,
    add_watcher,
    inside,
    parses_under_way,
    remove_watcher,
    report_unraisable,
    set_callbacks,
    watchers,
)
from optctx.drifting.comparison import Allowance, Comparison, Difference
from optctx.drifting.drift import DriftEvent, Moment, here
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import DriftWarning, OptionTypeError, ScopeError, UnsupportedImageError, shown
from optctx.image.loaded import Image
from optctx.image.options import RegisteredOption
from optctx.locks import Rank, lock_held_by_fork
from optctx.tasks.problems import when_returning
from optctx.tasks.scopes import follow_tasks
from optctx.values.states import State, live_state, shown_state
from optctx.wording import counted

Callback = Callable[[DriftEvent], object]

# Comparisons around calls. Each takes 20 us, or 70 us if LLVM has worked in between and replaced the contents
# of the processor's caches. Numba calls llvmlite two thousand times for two small functions.
_EACH_SECOND = 25
_AT_ONCE = 20


class Watcher(WatcherBase):
    """Reports changes from the call of `watch` until `close`, or until its `with` block ends.

    `events` holds the records, in the order in which they were seen. Any thread can close a watcher. Entering
    one that is closed raises ScopeError.
    """

    def __init__(self, callback: Callback | None, watching: _Watching, contained: bool) -> None:
        self._contained = contained  # whether it reports contained values, too
        self.events: list[DriftEvent] = []
        self._callback = callback
        self._watching = watching

    @property
    def closed(self) -> bool:
        """Whether it has stopped reporting."""
        return not any(each is self for each in self._watching.watchers())

    def close(self) -> None:
        """End the watch after a last comparison. A second call does nothing.

        Raises what the callback raises, or a warning that is an error, for changes not yet reported.
        """
        if remove_watcher(self):
            self._finish(failed=False)

    def _cannot_enter(self) -> NoReturn:
        """Raise, for `__enter__` of a watcher that is closed: it would report nothing."""
        raise ScopeError(f"cannot enter {self!r}: it is closed; call watch() again")

    def _finish(self, failed: bool) -> None:
        """Report the rest. Called by `close` and `__exit__`, after the watcher was removed."""
        self._watching.look(self)
        errors = self._watching.tell(lambda each: each.watcher is self)
        if failed:
            _unraisable(errors)  # the block's own error is raised
        else:
            _raise_first(errors)

    def __repr__(self) -> str:
        state = "closed" if self.closed else "open"
        return f"<Watcher: {state}, {counted(len(self.events), 'event')}>"

    def _tell(self, event: DriftEvent, moment: Moment) -> None:
        if self._callback is not None:
            self._callback(event)
            return
        file, line, module = moment.place
        warnings.warn_explicit(DriftWarning(event), DriftWarning, file, line, module or None)


def watch(
    callback: Callback | None = None, *, contained: bool = False, image: Image | None = None
) -> Watcher:
    """Report every change of an option's process-wide value, from now on and on all threads.

    Changes through LLVM's parsers, such as llvmlite's `set_option`, are seen as they happen, with both
    stacks. The report comes from the call that set the option, when LLVM is done, so an exception of the
    callback is raised there. The option stays set. Changes that bypass the parsers are found by comparing, at
    the next call through llvmlite, at the end of a compilation, or on closing, and are reported from there
    (to `sys.unraisablehook` if that call cannot raise). Where calls come fast, not every one compares: a
    change can be found some milliseconds later. Changes that contexts make are not reported. After a fork,
    the child continues to watch.

    Reaches the whole process: calls through llvmlite take longer until the last watcher is closed. Attaches
    at first use.

    Args:
        callback: Called with a DriftEvent, on the thread that made or found the change, with llvmlite's lock
            held. It can use LLVM, but must not wait for a thread that does. Without it, each change is a
            DriftWarning that points at the line that made it.
        contained: Whether to also report values that code gives to LLVM's setters inside scopes that contain
            them. They change no process-wide value.
        image: Of which LLVM, from `loaded_image`; None means llvmlite's. Of another one, what bypasses the
            parsers is found at the next call through llvmlite, or on closing.

    Raises:
        OptionTypeError: `callback` cannot be called, or `image` is not an image.
        UnsupportedImageError: LLVM cannot be watched. Nothing was changed.
    """
    if callback is not None and not callable(callback):
        raise OptionTypeError(f"watch takes a function of one DriftEvent, found {shown(callback)}")
    watching = _watching_of(attach(image))
    watcher = Watcher(callback, watching, contained)
    try:
        return watching.join(watcher)
    except BaseException:
        remove_watcher(watcher)
        raise


class _Report:
    """An event that was not reported to its watcher yet, and the thread that must report it."""

    def __init__(self, watcher: Watcher, event: DriftEvent, moment: Moment) -> None:
        self.watcher = watcher
        self.event = event
        self.moment = moment
        self.thread = threading.get_ident()

    def tell(self) -> None:
        self.watcher._tell(self.event, self.moment)


class _Parse:
    """A parse under way: the option that LLVM gives a value to on this thread, and its state before."""

    def __init__(self, address: int, before: State, inside: State | None) -> None:
        self.address = address
        self.before = before
        self.inside = inside  # its state in the thread's scope
        self.thread = threading.get_ident()
        self.depth = parses_under_way()

    def may_make(self, found: Difference) -> bool:
        """Tell whether the parse may have made a change. One to the state before the parse is older."""
        return self.address == found.option.address and self.before != found.after


class _Act(NamedTuple):
    """What LLVM was given, for a change that was seen as it happened."""

    text: str | None
    refused: bool
    contained: bool


class _Watching:
    """The watchers of one image.

    Code that runs inside LLVM's and llvmlite's calls takes no lock. It changes lists in single steps and
    iterates over copies, because other threads change the lists at any moment. Elements compare by identity,
    so finding one runs no Python code.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reports: list[_Report] = []
        self._parsing: list[_Parse] = []
        self._comparison: Comparison | None = None
        self._allowance = Allowance(_EACH_SECOND, _AT_ONCE)

    def watchers(self) -> tuple[WatcherBase, ...]:
        return watchers(self._engine.index)

    def join(self, watcher: Watcher) -> Watcher:
        return inside(_changing, self._join, watcher)

    def _join(self, watcher: Watcher) -> Watcher:
        """Add a watcher. Only the last step has an effect."""
        if self._comparison is None:
            _listen()
            when_returning(self._returning)
            self._comparison = Comparison(self._engine)
        if not self.watchers():
            self._parsing.clear()
            self._comparison.begin_again()
        else:
            self.look()  # the new watcher does not report earlier changes
        follow_tasks(self._engine)  # llvmlite reports its calls from now on
        try:
            # In one step, for the whole process: optctx/plan/ways_in.py finds the pointers that lead here.
            add_watcher(self._engine.index, watcher, self._engine.setters)
        except RuntimeError as error:
            raise UnsupportedImageError(
                f"cannot watch LLVM's options: {error}; nothing was changed"
            ) from error
        return watcher

    def look(self, leaving: Watcher | None = None) -> None:
        """Compare, and report changes that bypassed the parsers, also to a watcher that is `leaving`."""
        told = self.watchers() if leaving is None else (*self.watchers(), leaving)
        if self._comparison is None or not told:
            return
        differences = self._comparison.differences()
        # Now, not before: a parse that has ended has explained its change, one that begins has none yet.
        at_work = [each for each in self._parsing.copy() if not _is_stale(each, parses_under_way())]
        others = [each for each in differences if not any(parse.may_make(each) for parse in at_work)]
        found = [each for each in others if not self._comparison.was_explained(each)]
        if found:
            moment = here()
            for each in found:
                self._report(each, moment, told=told)

    def tell(self, wanted: Callable[[_Report], bool]) -> list[Exception]:
        """Report the `wanted` events that were not reported yet. Returns the errors that watchers raise.

        Does nothing inside LLVM's parsers, where the garbage collector can run code that calls llvmlite or
        closes a watcher.
        """
        raised: list[Exception] = []
        if parses_under_way():
            return raised
        try:
            for report in [each for each in self._reports.copy() if wanted(each)]:
                try:
                    self._reports.remove(report)
                except ValueError:
                    continue  # a nested call has reported it
                try:
                    report.tell()
                except Exception as error:  # the enclosing call raises it
                    raised.append(error)
            return raised
        finally:
            del raised  # tracebacks refer to this frame and so to the caller's

    def process_ends(self) -> None:
        """Remove the watchers, so LLVM does not call Python functions any more."""
        for each in self.watchers():
            remove_watcher(each)

    def forked(self) -> None:
        """Forget other threads, which do not exist in the child."""
        me = threading.get_ident()
        self._parsing = [each for each in self._parsing if each.thread == me]
        self._reports = [each for each in self._reports if each.thread == me]

    # Inside LLVM

    def begins(self, address: int) -> None:
        option = self._engine.plan.options.get(address)
        if option is None:
            return
        outer = parses_under_way() - 1
        for stale in [each for each in self._parsing.copy() if _is_stale(each, outer)]:
            self._remove(stale)
        self.look()
        inside = shown_state(self._engine, option)
        self._parsing.append(_Parse(address, live_state(option), inside))

    def ends(self, address: int, text: bytes | None, refused: bool, contained: bool) -> None:
        option = self._engine.plan.options.get(address)
        begun = self._begun(address)
        if option is None or begun is None or self._comparison is None:
            return
        given = None if text is None else text.decode(errors="backslashreplace")
        act = _Act(given, refused, contained)
        if contained:
            self._remove(begun)
            self._end_inside(option, begun.inside, act)
        else:
            found = Difference(option, begun.before, live_state(option))
            if found.before != found.after:
                self._comparison.explain(option, found.after)
            # Not before: a comparison in between, on any thread, would report the change as well.
            self._remove(begun)
            if found.before != found.after:
                self._report(found, here(self._engine.image), act)
        self.look()

    def _end_inside(self, option: RegisteredOption, before: State | None, act: _Act) -> None:
        after = shown_state(self._engine, option)
        told = tuple(each for each in self.watchers() if isinstance(each, Watcher) and each._contained)
        if before is not None and after is not None and not act.refused and told:
            self._report(Difference(option, before, after), here(self._engine.image), act, told)

    def _begun(self, address: int) -> _Parse | None:
        """Return this thread's innermost parse of the option."""
        me = threading.get_ident()
        parses = (each for each in reversed(self._parsing.copy()) if each.thread == me)
        return next((each for each in parses if each.address == address), None)

    def _remove(self, parse: _Parse) -> None:
        with suppress(ValueError):  # another thread has cleared the list for its first watcher
            self._parsing.remove(parse)

    # Around calls

    def call_begins(self) -> None:
        if self._allowance.take():
            self.look()

    def call_ends(self) -> None:
        """Tell what this thread has found. Must not raise: llvmlite would keep its lock."""
        if self._reports:
            _unraisable(self.tell(_is_of_this_thread))

    def _returning(self) -> None:
        self.call_begins()
        if self._reports:
            _raise_first(self.tell(_is_of_this_thread))

    def _report(
        self,
        found: Difference,
        moment: Moment,
        act: _Act | None = None,
        told: tuple[object, ...] | None = None,
    ) -> None:
        event = DriftEvent(
            found.option.name,
            found.before.value,
            found.after.value,
            found.after.occurrences,
            act is not None,
            None if act is None else act.text,
            act is not None and act.refused,
            moment.thread,
            moment.thread_id,
            moment.stack,
            moment.native_stack,
            found.after.readable,
            act is not None and act.contained,
        )
        for watcher in self.watchers() if told is None else told:
            assert isinstance(watcher, Watcher)  # no other class joins
            watcher.events.append(event)
            self._reports.append(_Report(watcher, event, moment))


def _is_stale(parse: _Parse, depth: int) -> bool:
    """Return whether the parse was this thread's and has ended, but an exception interrupted `ends`.

    `depth`: the number of this thread's parses that began earlier and are still under way.
    """
    return parse.thread == threading.get_ident() and parse.depth > depth


def _is_of_this_thread(report: _Report) -> bool:
    return report.thread == threading.get_ident()


def _raise_first(errors: list[Exception]) -> None:
    _unraisable(errors[1:])
    if errors:
        try:
            raise errors.pop(0)
        finally:
            errors.clear()  # see `tell`


def _unraisable(errors: list[Exception]) -> None:
    """Report errors to `sys.unraisablehook`, as no code can catch them."""
    while errors:
        report_unraisable(errors.pop(0), watch)


_changing = lock_held_by_fork(Rank.WATCHERS)  # held while a watcher joins
_watchings: dict[int, _Watching] = {}  # by the image's index


def _watching_of(engine: Engine) -> _Watching:
    return _watchings.setdefault(engine.index, _Watching(engine))


def _each(act: Callable[[_Watching], None]) -> None:
    for each in list(_watchings.values()):
        act(each)


# What native code calls while there is a watcher, on any thread. None of it may raise.


def _begins(image: int, address: int) -> None:
    """Take note, inside LLVM, that it is about to parse a value for the option at the address."""
    _watchings[image].begins(address)


def _ends(image: int, address: int, text: bytes | None, refused: bool, contained: bool) -> None:
    """Take note, inside LLVM, that it has parsed the text."""
    _watchings[image].ends(address, text, refused, contained)


# These two are called around every call through llvmlite, with its lock held. Each takes half a microsecond.
# They get no image: a call through llvmlite may change options of any image.


def _call_begins() -> None:
    for each in tuple(_watchings.values()):
        each.call_begins()


def _call_ends() -> None:
    for each in tuple(_watchings.values()):
        each.call_ends()


@cache
def _listen() -> None:
    """Hand these functions to native code, once in a process."""
    set_callbacks(
        occurrence_begins=_begins, occurrence_ends=_ends, call_begins=_call_begins, call_ends=_call_ends
    )


os.register_at_fork(after_in_child=lambda: _each(_Watching.forked))
atexit.register(lambda: _each(_Watching.process_ends))
