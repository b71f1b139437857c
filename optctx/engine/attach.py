"""Attaches to the LLVM of this process at first use, all or nothing, and detaches on request."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field

from optctx._native import (
    Image,
    Space,
    Transaction,
    active_scopes,
    call_pointer,
    read_words,
    thread_offset,
    watch_forks,
)
from optctx.engine.plan import Plan, PlannedOption, make_plan
from optctx.errors import ScopeError, UnsupportedImageError
from optctx.image.loaded import llvmlite_image
from optctx.image.survey import Survey, survey
from optctx.image.trampolines import trampoline

__all__ = ["Engine", "attach", "attached", "detach"]

_IMAGE_INDEX = 0  # which of the thread-local views; one LLVM is supported so far
_ERRS = "_ZN4llvm4errsEv"
_RUNTIME = ("_ZZN4llvm4errsEvE1S", "_ZL12ErrorHandler", "_ZL20ErrorHandlerUserData")
_ADD_OCCURRENCE = "_ZN4llvm2cl6Option13addOccurrenceEjNS_9StringRefES2_b"


@dataclass
class Engine:
    """One image: its options, its redirected instructions and the views on it. Lives with the process."""

    image: Image
    survey: Survey
    plan: Plan
    space: Space
    transaction: Transaction
    redirected: bool = False  # whether the transaction is committed, for those in a hurry
    index: int = _IMAGE_INDEX
    options: dict[str, PlannedOption] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def resolve(self, option: PlannedOption) -> PlannedOption:
        """The option that an alias stands for, or the option itself."""
        while option.record.alias_of:
            option = self.plan.options[option.record.alias_of]
        return option


_lock = threading.RLock()
_engine: Engine | None = None
_attaching = False  # guarded by the lock; True where the thread that holds it comes here again


def attach() -> Engine:
    """The attached engine; the first call redirects LLVM's option reads for the whole process.

    Every thread keeps reading LLVM's globals until it enters a context. Takes about half a second once.
    Raises UnsupportedImageError, with nothing changed, where the library does not check out or the code
    cannot be changed.
    """
    global _attaching
    engine = _engine
    if engine is not None and engine.transaction.committed:
        return engine
    with _lock:
        if _attaching:
            raise UnsupportedImageError(
                "this very thread is attaching to LLVM, and a signal handler or a finaliser interrupted it; "
                "use optctx once before such code may run"
            )
        _attaching = True
        try:
            return _attach()
        finally:
            _attaching = False


def _attach() -> Engine:
    global _engine
    if _engine is None:
        _engine = _prepare()
    if not _engine.transaction.committed:
        start = time.perf_counter()
        try:
            _engine.transaction.commit()
        except RuntimeError as error:
            raise UnsupportedImageError(
                f"could not redirect LLVM's option reads, nothing was changed: {error}"
            ) from error
        _engine.redirected = True
        _engine.seconds["commit"] = time.perf_counter() - start
    return _engine


def attached() -> Engine | None:
    """The engine if some call has attached it, else None; never attaches."""
    return _engine if _engine is not None and _engine.transaction.committed else None


def detach() -> None:
    """Puts LLVM's original instructions back, for the whole process; the next use attaches again.

    Scopes that were only carried elsewhere (`copy_context`) have no effect until then. Raises ScopeError,
    with nothing changed, while any thread is inside a context.
    """
    with _lock:
        if _engine is None or not _engine.transaction.committed:
            return
        inside = active_scopes()
        if inside:
            raise ScopeError(
                f"cannot detach from LLVM: {inside} scope(s) are still entered in this process; "
                "leave them first"
            )
        try:
            _engine.redirected = False
            _engine.transaction.undo()
        except RuntimeError as error:
            raise UnsupportedImageError(
                f"could not detach from LLVM, nothing was changed: {error}"
            ) from error


def _prepare() -> Engine:
    """Everything but the change: image, registry, sites, trampolines, views."""
    clock = _Clock()
    image = llvmlite_image()
    clock.lap("image")
    surveyed = survey(image)
    clock.lap("registry")
    plan = make_plan(image, surveyed, _runtime(image))
    clock.lap("sites")
    offset = thread_offset(_IMAGE_INDEX)
    code = [
        (site.address, site.code, trampoline(site, plan.slots[site.region], offset)) for site in plan.sites
    ]
    clock.lap("trampolines")
    try:
        transaction = Transaction(code, image.text_begin, image.text_end)
        add_occurrence = image.symbol(_ADD_OCCURRENCE)
        if add_occurrence is None:
            raise UnsupportedImageError(f"{image.path}: expected the symbol {_ADD_OCCURRENCE}, found none")
        space = Space.make(_IMAGE_INDEX, plan.regions, plan.set_default, add_occurrence, plan.runtime_slots)
    except RuntimeError as error:
        raise UnsupportedImageError(f"{image.path}: {error}; nothing was changed") from error
    watch_forks()
    clock.lap("views")
    engine = Engine(image, surveyed, plan, space, transaction, seconds=clock.laps)
    for option in plan.options.values():
        for name in option.record.names:
            engine.options[name] = option
    return engine


def _runtime(image: Image) -> list[tuple[int, int]]:
    """(address, size) of what LLVM reports through: errs()'s stream, the fatal error handler, its data."""
    function = image.symbol(_ERRS)
    # The stream is made at the first call; from then on it is where its symbol says.
    made = call_pointer(function) if function is not None else 0
    spans = []
    for name in _RUNTIME:
        address = image.symbol(name)
        symbol = image.object_at(address) if address is not None else None
        if symbol is None or symbol.address != address:
            raise UnsupportedImageError(f"{image.path}: expected an object called {name}, found none")
        spans.append((symbol.address, symbol.size))
    if spans[0][0] != made or read_words(made, 5)[2:] != [0, 0, 0]:
        raise UnsupportedImageError(f"{image.path}: llvm::errs() is not the unbuffered stream {_RUNTIME[0]}")
    return spans


class _Clock:
    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now
