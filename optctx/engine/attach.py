"""Attaches to the LLVM of this process at first use, all or nothing, and detaches on request."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from optctx._native import (
    Context,
    Image,
    Space,
    active_recorders,
    active_scopes,
    bound_count,
    process_ends,
)
from optctx.engine.choice import Choice, cannot_redirect, choose, warn_of_fallback
from optctx.engine.lookups import publish_options
from optctx.engine.plan import Plan, PlannedOption
from optctx.engine.way import IMAGE_INDEX, CannotRedirectError, Clock, Way
from optctx.errors import ScopeError, UnsupportedImageError
from optctx.image.loaded import llvmlite_image
from optctx.image.survey import Survey, survey
from optctx.locks import Rank, lock_held_by_fork

__all__ = [
    "Engine",
    "Storage",
    "attach",
    "attach_now",
    "attached",
    "detach",
    "stay_attached",
    "when_attached",
]


@dataclass(frozen=True)
class Storage:
    """Addresses of an Option and of its value, good as long as this object lives."""

    option: int
    value: int
    owner: Context | None


@dataclass
class Engine:
    """One image: its options, and the way in which contexts reach them. Lives with the process."""

    image: Image
    survey: Survey
    choice: Choice
    way: Way = field(init=False)  # of the choice; every `with` asks it
    index: int = IMAGE_INDEX
    options: dict[str, PlannedOption] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.way = self.choice.way

    @property
    def plan(self) -> Plan:
        return self.way.plan

    @property
    def space(self) -> Space:
        return self.way.space

    def resolve(self, option: PlannedOption) -> PlannedOption:
        """The option that an alias stands for, or the option itself."""
        while option.record.alias_of:
            option = self.plan.options[option.record.alias_of]
        return option

    def process_wide(self, option: PlannedOption) -> Storage:
        """Where the process-wide value of an option is now, whoever is inside a context."""
        record, offset = option.record, self.survey.value_offset
        context = self.way.process_wide() if option.scope != "process" else None
        if context is None or option.slot is None:
            return Storage(record.address, record.variable or record.address + offset, None)
        own = context.address(option.slot)
        value = context.address(option.variable_slot) if record.type.external else own + offset
        return Storage(own, value, context)


_lock = lock_held_by_fork(Rank.ENGINE)
_engine: Engine | None = None
_listeners: list[Callable[[], None]] = []
_attaching = False  # guarded by the lock; True where the thread that holds it comes here again


def attach() -> Engine:
    """The attached engine; the first call redirects LLVM's option reads for the whole process.

    Every thread keeps reading LLVM's globals until it enters a context. Takes about half a second once. Where
    the code cannot be changed, threads take turns instead; OPTCTX_ENGINE, read at the first call, decides
    otherwise. Raises UnsupportedImageError, with nothing changed, where the library does not check out.
    """
    global _attaching
    engine = _engine
    if engine is not None and engine.way.attached:
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


def attach_now() -> None:
    """Attaches to the LLVM of this process, if nothing has yet: what the first use of a context does.

    Reaches the whole process: from now on contexts that are entered or bound, and the attribute "optctx" of
    functions, count on every thread; nothing else changes. Raises UnsupportedImageError, with nothing
    changed, where the library does not check out or the code cannot be changed.
    """
    attach()


def _attach() -> Engine:
    global _engine
    if _engine is None:
        made = _make()
        try:
            for listener in _listeners:
                listener()
        finally:
            _engine = made  # complete: from now on other threads take it without the lock
        if _engine.choice.fell_back:
            warn_of_fallback(_engine.choice.reason)
    elif not _engine.way.attached:
        start = time.perf_counter()
        try:
            _engine.way.attach()
        except CannotRedirectError as error:  # contexts were made for this way
            raise cannot_redirect(error) from error
        _engine.seconds["commit"] = time.perf_counter() - start
    return _engine


def when_attached(listener: Callable[[], None]) -> None:
    """Has the listener called once, when this process attaches for the first time."""
    _listeners.append(listener)


def attached() -> Engine | None:
    """The engine if some call has attached it, else None; never attaches."""
    return _engine if _engine is not None and _engine.way.attached else None


def detach() -> None:
    """Puts LLVM's original instructions back, for the whole process; the next use attaches again.

    Scopes that were only carried elsewhere (`copy_context`) have no effect until then. Raises ScopeError,
    with nothing changed, while any thread is inside a context or records, or any LLVMContext is bound.
    """
    with _lock:
        if _engine is None or not _engine.way.attached:
            return
        # Whoever enters, binds or records is counted first and looks at this then (`stay_attached`): either
        # it is seen here, or it attaches again.
        _engine.way.attached = False
        try:
            _check_unused()
            _detach(_engine.way)
        except BaseException:
            _engine.way.attached = True
            raise


def stay_attached(engine: Engine, take_back: Callable[[], object]) -> None:
    """For who was counted just now: attaches again if somebody detached meanwhile.

    Raises what attaching raises, after `take_back`.
    """
    if engine.way.attached:
        return
    try:
        attach()
    except BaseException:
        take_back()
        raise


def _detach(way: Way) -> None:
    try:
        way.detach()
    except RuntimeError as error:
        raise UnsupportedImageError(f"could not detach from LLVM, nothing was changed: {error}") from error


def _check_unused() -> None:
    """Raises ScopeError while anybody needs what attaching has done."""
    bindings = bound_count()
    if bindings:
        raise ScopeError(
            f"cannot detach from LLVM: contexts are bound to {bindings} LLVMContext(s), which would see "
            "the process-wide values; unbind them first (what LLJIT has not compiled yet ends when it is "
            "looked up, or with its tracker)"
        )
    inside = active_scopes()
    if inside:
        raise ScopeError(
            f"cannot detach from LLVM: {inside} scope(s) are still entered in this process; leave them first"
        )
    recording = active_recorders()
    if recording:
        raise ScopeError(
            f"cannot detach from LLVM: {recording} block(s) record what it reads; leave them first"
        )


def _make() -> Engine:
    clock = Clock()
    image = llvmlite_image()
    clock.lap("image")
    try:
        surveyed = survey(image)
        clock.lap("registry")
        choice = choose(image, surveyed, clock)
    finally:
        image.release_pages()
    atexit.register(process_ends)
    engine = Engine(image, surveyed, choice, seconds=clock.laps)
    for option in engine.plan.options.values():
        for name in option.record.names:
            engine.options[name] = option
    publish_options(engine.plan, IMAGE_INDEX, image.path, surveyed.value_offset)
    clock.lap("lookups")
    return engine
