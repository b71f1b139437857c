"""What native code calls back for contexts: when one is entered or left, and when LLVM's setters run inside.

LLVM's setters are `cl::ParseCommandLineOptions` (which llvmlite's `set_option` calls), the resets, and
`addOccurrence` of LLVM's own option objects. Native code shows contained values to the thread until it leaves
(native/intercept/setters); values/layers.py makes layers of them. This module reports values that a context
did not contain.
"""

from __future__ import annotations

from optctx import _native
from optctx.engine.attach import attach, engine_of
from optctx.engine.host import host_of
from optctx.errors import ContainmentWarning, OptctxError, ScopeError, UnsupportedImageError, shown
from optctx.reads.unread import judge
from optctx.tasks.problems import tell_of
from optctx.tasks.scopes import check_in_line


def _cannot_enter(context: object, text: str) -> UnsupportedImageError:
    """Return the error for a context whose reads cannot be seen, or None for a compilation outside scopes."""
    where = "outside every scope" if context is None else f"inside {shown(context)}"
    return UnsupportedImageError(f"cannot tell what LLVM reads {where}: {text}")


def _cannot_leave(context: object, text: str) -> ScopeError:
    """Return the error for a scope that the native module refused to leave."""
    return ScopeError(f"cannot leave {shown(context)}: {text}")


def _not_contained(image: int, address: int) -> None:
    """Warn, from inside LLVM, that code in a context sets the option at `address` for the whole process."""
    option = engine_of(image).plan.options.get(address)
    name, reason = "an LLVM option", "another library registered it"
    if option is not None:
        name, reason = repr(option.name), option.reason or "it takes several values at once"
    words = f"contexts cannot contain it: {reason}"
    advice = "set it before the scope, or in a process of its own (optctx.compiling.FreshProcess)"
    tell_of(
        image, ContainmentWarning(f"{name} was set for the whole process inside a context; {words}; {advice}")
    )


def _ends_with_call(image: int, address: int) -> None:
    """Warn, from inside LLVM, that a value ends with this call: another thread entered this task's scope."""
    option = engine_of(image).plan.options.get(address)
    what = "a reset of LLVM's options" if option is None else f"the value given to {option.name!r}"
    tell_of(
        image,
        ContainmentWarning(
            f"{what} ended with the call: this thread works in a scope that another thread has entered, and "
            "must not change it; enter a context on this thread"
        ),
    )


_told: set[tuple[int, int]] = set()  # (image, address of an option) of what a hook was told to be contained


def _contained(image: int, address: int, context: object) -> None:
    """Warn, from inside LLVM, that a value ends with its scope, which code that sets it once cannot know."""
    option = engine_of(image).plan.options.get(address)
    if getattr(context, "_containing", True) or option is None:  # an attribute's scope has no OptionContext
        return
    if not host_of(engine_of(image).image).reports_calls:  # a hook is told, which knows no place
        if (image, address) in _told:
            return
        _told.add((image, address))
    tell_of(
        image,
        ContainmentWarning(
            f"an option was set inside a scope, and ends with it: {option.name!r}. Code that sets it once "
            "for the process finds it unset later: run that code before the first scope, or outside scopes. "
            "If its effect is to end, enter `optctx.contained()` around it"
        ),
    )


def _failed(image: int, why: str) -> None:
    tell_of(
        image,
        OptctxError(
            f"an LLVM option was not set inside a context, or LLVM worked without part of its values: {why}"
        ),
    )


_native.set_callbacks(
    attach=lambda index: attach(engine_of(index).image),  # from which another thread has detached since
    check_in_line=check_in_line,
    cannot_enter=_cannot_enter,
    cannot_leave=_cannot_leave,
    judge=judge,
    not_contained=_not_contained,
    ends_with_call=_ends_with_call,
    contained=_contained,
    failed=_failed,
)
