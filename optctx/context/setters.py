"""LLVM's own setters inside a context: `cl::ParseCommandLineOptions` (which llvmlite's `set_option` calls),
the resets, and `addOccurrence` of LLVM's own option objects.

Native code shows contained values to the thread until it leaves (native/intercept/setters);
values/layers.py makes layers of them. This module reports values that a context did not contain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from optctx import _native
from optctx.engine.attach import engine_of
from optctx.errors import (
    ContainmentError,
    ContainmentWarning,
    OptctxError,
    OptionTypeError,
    UnsupportedImageError,
    shown,
)
from optctx.tasks.problems import tell_of

if TYPE_CHECKING:
    from optctx.engine.engine import Engine

__all__ = ["SetsMode", "native_mode"]

SetsMode = Literal["contain", "process", "error"]

_MODES = {
    "contain": _native.Sets.contain,
    "process": _native.Sets.process,
    "error": _native.Sets.error,
}


def native_mode(engine: Engine, mode: SetsMode) -> _native.Sets:
    """The native form of `mode`.

    Raises OptionTypeError if it is not a SetsMode, and UnsupportedImageError if the engine does not offer it.
    """
    if mode not in _MODES:
        raise OptionTypeError(f'sets is "contain", "process" or "error", found {shown(mode)}')
    if mode != "contain" and not engine.redirects:
        raise UnsupportedImageError(
            f'sets="{mode}" cannot be had where threads take turns: what is set inside a scope ends with it '
            f'({engine.reason}); use sets="contain"'
        )
    return _MODES[mode]


def _tell(image: int, problem: BaseException) -> None:
    tell_of(engine_of(image).image, problem)


def _not_contained(image: int, address: int) -> None:
    """Warn, from inside LLVM, that code in a context sets the option at `address` for the whole process."""
    option = engine_of(image).plan.options.get(address)
    if option is None:
        words = "an option that was registered after optctx attached has no storage of its own in contexts"
        advice = "set it before the scope"
        name = "an LLVM option"
    else:
        name = repr(option.name)
        words = f"contexts cannot contain it: {option.reason or 'it takes several values at once'}"
        advice = 'set it before the scope, or leave it to OptionContext(..., process_wide="exclusive")'
    _tell(
        image, ContainmentWarning(f"{name} was set for the whole process inside a context; {words}; {advice}")
    )


def _ends_with_call(image: int, address: int) -> None:
    """Warn, from inside LLVM, that a value ends with this call: another thread entered this task's scope."""
    option = engine_of(image).plan.options.get(address)
    what = "a reset of LLVM's options" if option is None else f"the value given to {option.name!r}"
    _tell(
        image,
        ContainmentWarning(
            f"{what} ended with the call: this thread works in a scope that another thread has entered, and "
            "must not change it; enter a context on this thread"
        ),
    )


def _not_set(image: int, address: int) -> None:
    """Leave an error, from inside LLVM: the context of this thread refuses LLVM's setters."""
    option = engine_of(image).plan.options.get(address)
    what = "reset LLVM's options" if address == 0 else "set an LLVM option"
    if option is not None:
        what = f"set {option.name!r}"
    _tell(
        image,
        ContainmentError(
            f'cannot {what} inside a context with sets="error": nothing was changed; leave the context '
            'before, or make it with sets="contain"'
        ),
    )


def _failed(image: int, why: str) -> None:
    _tell(image, OptctxError(f"an LLVM option was not set inside a context, nothing was changed: {why}"))


_native.set_callbacks(
    not_contained=_not_contained, ends_with_call=_ends_with_call, not_set=_not_set, failed=_failed
)
