"""`attach` and `detach`, with what a program decides for all threads of the process.

Native code keeps the rule for compilations outside every scope (native/intercept/outside.hpp) and counts
those that go on under it. On the thread that runs LLVM it asks here whether one may run.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Literal

from optctx import _native
from optctx.engine import attach as engine_attach
from optctx.engine.attach import engine_of
from optctx.engine.host import host_of
from optctx.errors import (
    OutsideScopeError,
    OutsideScopeWarning,
    ScopeError,
    UnsupportedImageError,
    check_choice,
    level_outside,
)
from optctx.image.loaded import Image
from optctx.tasks.problems import place_of, raise_problems, tell
from optctx.travelling.attributes import INITIAL, Attributes, new_policy, set_policy
from optctx.values.layers import Layers
from optctx.wording import counted

if TYPE_CHECKING:
    from optctx.engine.engine import Engine


def attach(
    image: Image | None = None,
    *,
    attributes: Attributes | None = None,
    trust: Iterable[str] | None = None,
    outside: Outside | None = None,
) -> None:
    """Attach to an LLVM of this process, if nothing has attached yet.

    Reaches the whole process: from now on contexts that are entered or bound count on every thread. Attaching
    alone changes nothing for any module. The first use of a context attaches as well.

    Args:
        image: Which LLVM, from `loaded_image`; None means llvmlite's.
        attributes: Whether the attribute "optctx" of functions counts, on every thread, until `detach`.
            "ignore": no (initially). "error": yes, and a refused attribute makes the enclosing call raise
            before any pass has run on the module. "warn": yes, and a function with a refused attribute
            compiles without it, with an UntrustedOptionWarning. None leaves the setting as it is. An
            attribute is refused if LLVM does not accept it, or if it sets an option that is not trusted.
        trust: What attributes can set: classes of options (`Option.trust`), and names of single options.
            Initially `("tuning",)`: options that change nothing but the generated code. None leaves the
            setting as it is.
        outside: What happens if LLVM runs passes or emits code on a thread outside every scope, on a module
            whose LLVMContext is not bound. Counts for every thread of this process and its forked children,
            until `detach`. "allow": it reads the process-wide values (initially). "warn": it also issues an
            OutsideScopeWarning, which names the caller. "error": the enclosing call raises OutsideScopeError
            before any pass has run; `with OptionContext():` permits a compilation with the values that it
            has there. "defaults": it reads the registered values, whatever was set process-wide. None leaves
            the setting as it is.

    Raises:
        UnsupportedImageError: The library does not check out, or lacks what attributes or another `outside`
            than "allow" take. Or "warn" or "error" is asked for an LLVM that the program calls itself. No
            setting was changed.
        ScopeError: `outside` is to change while compilations run outside every scope. No setting was changed.
        OptionTypeError, UnknownOptionError: An argument is wrong.
    """
    if attributes is not None:
        check_choice("attributes", attributes, Attributes)
    if outside is not None:
        check_choice("outside", outside, Outside)
    engine = engine_attach.attach(image)
    policy = new_policy(engine, attributes, trust)
    if outside is not None:
        _set_outside(engine, outside)
    set_policy(engine, policy)


def detach(image: Image | None = None) -> None:
    """Restore LLVM's original instructions, for the whole process. The next use attaches again.

    The settings of `attach` return to their initial values: attributes of functions stop counting, and code
    outside every scope compiles with the process-wide values. A scope that was only carried elsewhere
    (`copy_context`) has no effect until the next use. `image`: from which LLVM, as for `attach`.

    Raises:
        ScopeError: A thread is inside a context or records, or an LLVMContext is bound. Nothing was changed.
    """
    engine = engine_attach.made(image)
    engine_attach.detach(image)
    if engine is not None:
        set_policy(engine, INITIAL)
        _native.reset_outside_rule(engine.index)


Outside = Literal["allow", "warn", "error", "defaults"]

_BETWEEN = frozenset({"contextlib", "functools"})  # beside the packages of the host


def _set_outside(engine: Engine, outside: Outside) -> None:
    """Set the rule of an image, for all threads, or raise as `optctx.attach` does, with nothing changed."""
    if outside != "allow" and not engine.intercepts:
        raise UnsupportedImageError(
            f'outside="{outside}" cannot count: {engine.not_intercepted}; enter scopes instead'
        )
    if outside in ("warn", "error") and not host_of(engine.image).reports_calls:
        raise UnsupportedImageError(
            f'outside="{outside}" cannot count: the program calls the LLVM of {engine.image.path} itself, '
            'and optctx cannot raise anything there; use "defaults"'
        )
    layers = _registered(engine) if outside == "defaults" else None
    native = None if layers is None else layers.native
    running = _native.set_outside_rule(engine.index, _native.Outside[outside], native, layers)
    if running:
        raise ScopeError(
            f'cannot change to outside="{outside}": outside every scope, '
            f"{counted(running, 'compilation runs', 'compilations run')} under "
            f'outside="{_native.outside_rule(engine.index).name}"; change it before threads compile, or wait '
            "for them"
        )


@cache
def _registered(engine: Engine) -> Layers:
    """Return the registered values. Native code keeps them for good."""
    return Layers.registered(engine)


def _may_run_outside(image: int, is_error: bool) -> bool:
    """Report, on the thread that runs LLVM, that it compiles outside every scope. Return whether it may."""
    between = _BETWEEN | host_of(engine_of(image).image).between
    caller = sys._getframe(level_outside(*between) - 1)
    who, place = "LLVM", None
    if caller is not sys._getframe():  # else this thread has no other one
        who = f"{caller.f_code.co_name} ({caller.f_code.co_filename}:{caller.f_lineno})"
        place = place_of(caller)
    what = f"{who} compiles outside every scope"
    advice = (
        "enter a context around it (`with OptionContext():` keeps the values that it has here) or bind one "
        f"to the LLVMContext{_of_pools()}"
    )
    if is_error:
        tell(OutsideScopeError(f'nothing has been run: {what}, which outside="error" forbids; {advice}'))
    else:
        tell(OutsideScopeWarning(f"{what}; {advice}"), place)
    return not is_error


def compiles_outside(engine: Engine) -> None:
    """Warn of a compilation outside every scope, or refuse it with an OutsideScopeError, as the rule says.

    For one that enters a scope of its own, where LLVM cannot tell.
    """
    rule = _native.outside_rule(engine.index)
    if rule in (_native.Outside.warn, _native.Outside.error):
        _may_run_outside(engine.index, rule == _native.Outside.error)
        raise_problems()


def _of_pools() -> str:
    """Say what helps if a thread compiles outside every scope while other threads are inside some."""
    inside = _native.active_scopes()
    if not inside or threading.get_ident() == threading.main_thread().ident:
        return ""
    return (
        f"; other threads are inside {counted(inside, 'scope')}, which a pool's worker does not share: give "
        "its work to optctx.propagating(pool)"
    )


_native.set_callbacks(may_run_outside=_may_run_outside)
