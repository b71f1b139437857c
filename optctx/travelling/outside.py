"""What becomes of compilations outside every scope, in each LLVM: the rule, and how a compilation is named.

Native code keeps the rule (native/intercept/outside.hpp) and counts the compilations that go on under it. On
the thread that runs LLVM it asks here whether one may run.
"""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Literal

from optctx import _native
from optctx.engine.attach import engine_of
from optctx.engine.host import host_of
from optctx.errors import (
    OptionTypeError,
    OutsideScopeError,
    OutsideScopeWarning,
    ScopeError,
    UnsupportedImageError,
    shown,
)
from optctx.tasks.problems import place_of, tell
from optctx.values.layers import Layers
from optctx.wording import counted

if TYPE_CHECKING:
    from optctx.engine.engine import Engine

__all__ = ["Outside", "check_outside", "reset_outside", "set_outside"]

Outside = Literal["allow", "warn", "error", "defaults"]

_RULES = {
    "allow": _native.Outside.allow,
    "warn": _native.Outside.warn,
    "error": _native.Outside.error,
    "defaults": _native.Outside.defaults,
}
_registered: dict[int, Layers] = {}  # by the image's index; native code keeps them for good
_BETWEEN = frozenset({"optctx", "contextlib", "functools"})  # beside the packages of the host


def check_outside(outside: Outside | None) -> None:
    """Raise OptionTypeError for what is not a rule."""
    if outside is not None and outside not in tuple(_RULES):  # it may have no hash
        raise OptionTypeError(f'outside is "allow", "warn", "error" or "defaults", found {shown(outside)}')


def set_outside(engine: Engine, outside: Outside) -> None:
    """Set the rule of an image, for all threads, or raise as `optctx.attach` does, with nothing changed."""
    if outside != "allow" and not engine.intercepts:
        raise UnsupportedImageError(
            f'outside="{outside}" cannot count: {engine.why_not_intercepted}; enter scopes instead'
        )
    if outside in ("warn", "error") and not host_of(engine.image).reports_calls:
        raise UnsupportedImageError(
            f'outside="{outside}" cannot count: the program calls the LLVM of {engine.image.path} itself, '
            'and optctx cannot raise anything there; use "defaults"'
        )
    layers = (
        _registered.setdefault(engine.index, Layers.registered(engine)) if outside == "defaults" else None
    )
    native = None if layers is None else layers.native
    running = _native.set_outside_rule(engine.index, _RULES[outside], native, layers)
    if running:
        raise ScopeError(
            f'cannot change to outside="{outside}": outside every scope, '
            f"{counted(running, 'compilation runs', 'compilations run')} under "
            f'outside="{_native.outside_rule(engine.index).name}"; change it before threads compile, or wait '
            "for them"
        )


def reset_outside(engine: Engine) -> None:
    """Allow compilations outside every scope again."""
    _native.reset_outside_rule(engine.index)


def _may_run_outside(image: int, is_error: bool) -> bool:
    """Report, on the thread that runs LLVM, that it compiles outside every scope. Return whether it may."""
    between = _BETWEEN | host_of(engine_of(image).image).between
    caller = _caller(sys._getframe(1), between)
    what = "LLVM compiles outside every scope" if caller is None else _words(caller)
    advice = (
        "enter a context around it (`with OptionContext():` keeps the values that it has here) or bind one "
        f"to the LLVMContext{_of_pools()}"
    )
    place = None if caller is None else place_of(caller)
    if is_error:
        tell(OutsideScopeError(f'nothing has been run: {what}, which outside="error" forbids; {advice}'))
    else:
        tell(OutsideScopeWarning(f"{what}; {advice}"), place)
    return not is_error


def _caller(frame: FrameType | None, between: frozenset[str]) -> FrameType | None:
    """Return the frame, from here outwards, that is of no package `between`; None in a thread without one."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in between:
        frame = frame.f_back
    return frame


def _words(caller: FrameType) -> str:
    code = caller.f_code
    return f"{code.co_name} ({code.co_filename}:{caller.f_lineno}) compiles outside every scope"


def _of_pools() -> str:
    """Say what helps if a thread compiles outside every scope while other threads are inside some."""
    if threading.get_ident() == threading.main_thread().ident:
        return ""
    inside = _native.active_scopes()
    if not inside:
        return ""
    return (
        f"; other threads are inside {counted(inside, 'scope')}, which a pool's worker does not share: give "
        "its work to optctx.propagating(pool)"
    )


_native.set_callbacks(may_run_outside=_may_run_outside)
