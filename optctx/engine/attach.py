"""Attaches to the LLVMs of this process at first use, all or nothing, and detaches on request."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable

from optctx._native import begin_lookups_with, process_ends, trim_heap
from optctx.engine.engine import Clock, Engine
from optctx.engine.host import Host, default_host, host_of
from optctx.engine.kept import Kept
from optctx.errors import OptionTypeError, ScopeError, UnsupportedImageError, shown
from optctx.image.facts.interceptions import missing_features
from optctx.image.loaded import Image
from optctx.image.registry_reader import keep_choices
from optctx.image.survey import Survey, survey
from optctx.locks import Rank, is_held, lock_held_by_fork
from optctx.wording import counted


class _Attachment:
    """What attaching has made of one image so far. Lives with the process."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.engine: Engine | None = None  # complete, attached or not
        self.kept: Kept | None = None  # until it is attached
        self.used = False  # whether the engine was ever attached


_lock = lock_held_by_fork(Rank.ENGINE)  # of all images: attaching changes code of the process
_attachments: dict[int, _Attachment] = {}  # by the image's base
_default: _Attachment | None = None  # of the default host's image, once this process has asked for it
_listeners: list[Callable[[], None]] = []


def attach(image: Image | None = None) -> Engine:
    """Return the attached engine of an image, by default the default host's. Attaches if need be.

    The first call redirects that LLVM's option reads for the whole process. Every thread keeps reading LLVM's
    globals until it enters a context. Takes 0.3 s the first time for a library, 0.07 s in later processes.
    Raises UnsupportedImageError, with nothing changed, where the library does not check out or its code
    cannot be changed, and OptionTypeError for what is not an image. If an exception interrupts it, nothing
    is attached and the next call begins where this one ended.
    """
    found = _find(image)
    if found is not None and found.used and found.engine is not None and found.engine.attached:
        return found.engine
    image = _unless_default(image)
    found = _find(image)
    if is_held(_lock) and (found is None or not found.used):  # later ones only repeat one native step
        raise UnsupportedImageError(
            "this very thread is attaching to LLVM, and a signal handler or a finaliser interrupted it; "
            "use optctx once before such code may run"
        )
    with _lock:
        return _attach(image)


def _attach(image: Image | None) -> Engine:
    """Prepare, commit. Before that nothing of LLVM's changes but what it makes at its first use."""
    clock = Clock()
    found = _attachment(image)
    host = host_of(found.image)
    clock.lap("image")
    if found.engine is None:
        found.engine = _prepare(found, host, clock)
    host.attaching()
    if image is None:
        _begin_with_default(found)
    if not (found.used and found.engine.attached):
        _commit(found, clock)
    return found.engine


def _prepare(found: _Attachment, host: Host, clock: Clock) -> Engine:
    """Make an engine with what an earlier process has kept, or without: that is no reason to fail."""
    found.kept = Kept(found.image)
    if found.kept.load():
        clock.lap("kept")
        try:
            return _make(found.image, host, clock)
        except (UnsupportedImageError, LookupError, TypeError, ValueError) as error:
            found.kept.drop(str(error))
    return _make(found.image, host, clock)


def _make(image: Image, host: Host, clock: Clock) -> Engine:
    try:
        surveyed = _survey(image, host)
        clock.lap("registry")
        return Engine(surveyed, clock)
    finally:
        image.release_pages()


def _survey(image: Image, host: Host) -> Survey:
    try:
        return survey(image, host.interceptions())
    except UnsupportedImageError as error:
        if refusal := host.refusal(error):
            raise UnsupportedImageError(refusal) from error
        raise


def _commit(found: _Attachment, clock: Clock) -> None:
    """Attach in one native step."""
    engine = found.engine
    assert engine is not None  # it is prepared
    if not engine.attached:  # else an exception came after that step
        start = time.perf_counter()
        try:
            engine.attach()
        except UnsupportedImageError:
            if not found.used:
                found.engine = None  # the next call makes it again
            raise
        engine.seconds["commit"] = time.perf_counter() - start
    if not found.used:
        clock.lap("commit")
        _finish(found, engine, clock)


def _finish(found: _Attachment, engine: Engine, clock: Clock) -> None:
    """Publish the options, with the plan in force, for lookups from C++; keep what can be kept."""
    atexit.register(process_ends)
    engine.publish()
    if _default is found:
        begin_lookups_with(engine.index)
    found.used = True
    clock.lap("lookups")
    _keep(found, engine)
    clock.lap("keeping")
    engine.seconds.update(clock.laps)


def _keep(found: _Attachment, engine: Engine) -> None:
    """Keep what the next process can use, and drop what only attaching needs."""
    findings = engine.image.findings
    if findings.changed:
        missing_features(engine.image)  # facts that are asked for later, when the index of symbols is gone
    if found.kept is not None:
        if found.kept.wanted and findings.changed:
            keep_choices(engine.image, engine.survey.registry)
            found.kept.save()
        engine.kept = found.kept.state
    found.kept = None
    findings.settle()
    engine.image.forget_symbols()
    engine.image.release_pages()
    trim_heap()


def _attachment(image: Image | None) -> _Attachment:
    """Find or make the attachment of an image, by default the default host's."""
    wanted = default_host().image() if image is None else image
    return _attachments.setdefault(wanted.base, _Attachment(wanted))


def _begin_with_default(found: _Attachment) -> None:
    """Have what is said of no image, and what the host reports, concern this one from now on."""
    global _default
    assert found.engine is not None  # the caller has made it
    if _default is not found or attached() is None:
        for listener in _listeners:
            listener()
    if found.used:  # else when its options are published
        begin_lookups_with(found.engine.index)
    _default = found


def when_attached(listener: Callable[[], None]) -> None:
    """Call the listener before this process attaches to the default host's LLVM.

    The listener may be called again, and must then do nothing.
    """
    _listeners.append(listener)


def _unless_default(image: Image | None) -> Image | None:
    """Replace the default host's image with None: what concerns the host begins with it either way."""
    default = default_host()  # here, because nothing is to be imported under the lock
    return None if image is None or default.has(image) else image


def _find(image: Image | None) -> _Attachment | None:
    if image is None:
        return _default
    if not isinstance(image, Image):
        raise OptionTypeError(f"image is what optctx.loaded_image returns, or None, found {shown(image)}")
    return _attachments.get(image.base)


def attached(image: Image | None = None) -> Engine | None:
    """Return the engine of an image, by default the default host's, if it is attached. Never attaches."""
    found = _find(image)
    engine = None if found is None else found.engine
    return engine if engine is not None and engine.attached else None


def made(image: Image | None = None) -> Engine | None:
    """Return the engine of an image, by default the default host's, attached or not. Never makes one."""
    found = _find(image)
    return None if found is None else found.engine


def engines() -> list[Engine]:
    """List the engines of all images of this process, attached or not, by their indexes."""
    found = [each.engine for each in list(_attachments.values()) if each.engine is not None]
    return sorted(found, key=lambda engine: engine.index)


def engine_of(index: int) -> Engine:
    """Return the engine of the image with this index, attached or not. There must be one."""
    return next(engine for engine in engines() if engine.index == index)


def is_default(engine: Engine) -> bool:
    """Tell whether the engine's image is the default host's."""
    return made() is engine


def detach(image: Image | None = None) -> None:
    """See `optctx.detach`; by default from the default host's image."""
    with _lock:
        engine = attached(image)
        if engine is None:
            return
        try:
            users = engine.detach()
        except RuntimeError as error:
            raise UnsupportedImageError(
                f"could not detach from LLVM, nothing was changed: {error}"
            ) from error
        _refuse(*users)


def _refuse(bindings: int, scopes: int, recorders: int) -> None:
    """Raise ScopeError if anything needs LLVM to be attached."""
    if bindings:
        raise ScopeError(
            f"cannot detach from LLVM: contexts are bound to {counted(bindings, 'LLVMContext')}, "
            "which would see the process-wide values; unbind them first (what LLJIT has not compiled yet "
            "ends when it is looked up, or with its tracker)"
        )
    if scopes:
        raise ScopeError(
            f"cannot detach from LLVM: {counted(scopes, 'scope is', 'scopes are')} still entered in "
            "this process; leave every scope first"
        )
    if recorders:
        raise ScopeError(
            f"cannot detach from LLVM: {counted(recorders, 'block records', 'blocks record')} what it "
            "reads; leave every record() block first"
        )
