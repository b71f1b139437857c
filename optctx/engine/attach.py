"""Attaches to the LLVM of this process at first use, all or nothing, and detaches on request."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from optctx._native import (
    Image,
    Setting,
    Space,
    inside,
    process_ends,
)
from optctx.engine.choice import Choice, cannot_redirect, choose, fall_back, warn_of_fallback
from optctx.engine.lookups import publish_options
from optctx.engine.plan import Plan, PlannedOption
from optctx.engine.storage import Storage, drifted_storage
from optctx.engine.way import IMAGE_INDEX, CannotRedirectError, Clock, Users, Way
from optctx.errors import ScopeError, UnsupportedImageError
from optctx.image.loaded import llvmlite_image
from optctx.image.releases import unproven
from optctx.image.survey import Survey, survey
from optctx.locks import Rank, is_held, lock_held_by_fork
from optctx.wording import counted

__all__ = [
    "Engine",
    "attach",
    "attached",
    "detach",
    "when_attached",
]


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

    @property
    def why_not_intercepted(self) -> str:
        """Why contexts cannot follow an LLVMContext or a function."""
        return self.way.why_not_intercepted or (
            "threads take turns in this process, and nothing tells when LLVM starts to work "
            f"({self.choice.reason})"
        )

    def resolve(self, option: PlannedOption) -> PlannedOption:
        """The option that an alias stands for, or the option itself."""
        while option.record.alias_of:
            option = self.plan.options[option.record.alias_of]
        return option

    def process_wide(self, option: PlannedOption) -> Storage:
        """Where the process-wide value of an option is now, while any threads are inside contexts."""
        record, offset = option.record, self.survey.value_offset
        context = self.way.process_wide() if option.scope != "process" else None
        if context is None or option.slot is None:
            return Storage(record.address, record.variable or record.address + offset, None)
        own = context.address(option.slot)
        value = context.address(option.variable_slot) if record.type.external else own + offset
        return Storage(own, value, context)

    def drifted(self, drift: Setting) -> Iterator[tuple[PlannedOption, Storage]]:
        """See `drifted_storage`."""
        return drifted_storage(self.plan, self.survey.value_offset, drift)


_lock = lock_held_by_fork(Rank.ENGINE)
_engine: Engine | None = None  # complete, attached or not
_listeners: list[Callable[[], None]] = []
_used = False  # whether the engine was ever attached; until then another way may take its place


def attach() -> Engine:
    """The attached engine; the first call redirects LLVM's option reads for the whole process.

    Every thread keeps reading LLVM's globals until it enters a context. Takes about half a second once. Where
    the code cannot be changed, threads take turns instead; OPTCTX_ENGINE, read at the first call, decides
    otherwise. Raises UnsupportedImageError, with nothing changed, where the library does not check out. If an
    exception interrupts it, nothing is attached and the next call begins where this one ended.
    """
    engine = _engine
    if engine is not None and engine.way.attached:
        return engine
    if is_held(_lock) and not _used:  # later ones only repeat one native step
        raise UnsupportedImageError(
            "this very thread is attaching to LLVM, and a signal handler or a finaliser interrupted it; "
            "use optctx once before such code may run"
        )
    return inside(_lock, _attach)


def _attach() -> Engine:
    """Changes nothing before its native step, `Way.attach`, but to prepare that once and for all."""
    global _engine, _used
    clock = Clock()
    if _engine is None:
        image = llvmlite_image()
        clock.lap("image")
        try:
            surveyed = _survey(image)
            clock.lap("registry")
            _engine = _make(image, surveyed, choose(image, surveyed, clock), clock)
        finally:
            image.release_pages()
    if _engine.way.attached:
        return _engine
    for listener in _listeners:
        listener()
    if not _used:
        _attach_first(_engine)
        return _engine
    start = time.perf_counter()
    try:
        _engine.way.attach()
    except CannotRedirectError as error:  # contexts were made for this way
        raise cannot_redirect(error) from error
    _engine.seconds["commit"] = time.perf_counter() - start
    return _engine


def _survey(image: Image) -> Survey:
    try:
        return survey(image)
    except UnsupportedImageError as error:
        raise unproven(error) from error


def _attach_first(engine: Engine) -> None:
    global _engine, _used
    clock = Clock()
    try:
        engine.way.attach()
    except CannotRedirectError as error:
        choice = fall_back(error, engine.image, engine.survey, clock)
        engine = _engine = _make(engine.image, engine.survey, choice, clock)
        engine.way.attach()
    except UnsupportedImageError:
        _engine = None  # the next call chooses again
        raise
    _used = True
    clock.lap("commit")
    engine.seconds.update(clock.laps)
    if engine.choice.fell_back:
        warn_of_fallback(engine.choice.reason)


def when_attached(listener: Callable[[], None]) -> None:
    """Has the listener called before this process attaches. It may be called again and does nothing then."""
    _listeners.append(listener)


def attached() -> Engine | None:
    """The engine if some call has attached it, else None; never attaches."""
    return _engine if _engine is not None and _engine.way.attached else None


def detach() -> None:
    """See `optctx.detach`."""
    inside(_lock, _detach)


def _detach() -> None:
    if _engine is None or not _engine.way.attached:
        return
    try:
        users = _engine.way.detach()
    except RuntimeError as error:
        raise UnsupportedImageError(f"could not detach from LLVM, nothing was changed: {error}") from error
    _refuse(users)


def _refuse(users: Users) -> None:
    """Raises ScopeError if anything needs what attaching has done."""
    if users.bindings:
        raise ScopeError(
            f"cannot detach from LLVM: contexts are bound to {counted(users.bindings, 'LLVMContext')}, "
            "which would see the process-wide values; unbind them first (what LLJIT has not compiled yet "
            "ends when it is looked up, or with its tracker)"
        )
    if users.scopes:
        raise ScopeError(
            f"cannot detach from LLVM: {counted(users.scopes, 'scope is', 'scopes are')} still entered in "
            "this process; leave every scope first"
        )
    if users.recorders:
        raise ScopeError(
            f"cannot detach from LLVM: {counted(users.recorders, 'block records', 'blocks record')} what it "
            "reads; leave every record() block first"
        )


def _make(image: Image, surveyed: Survey, choice: Choice, clock: Clock) -> Engine:
    atexit.register(process_ends)
    engine = Engine(image, surveyed, choice, seconds=clock.laps)
    for option in engine.plan.options.values():
        for name in option.record.names:
            engine.options[name] = option
    publish_options(engine.plan, IMAGE_INDEX, image.path, surveyed.value_offset)
    clock.lap("lookups")
    return engine
