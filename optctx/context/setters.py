"""LLVM's own setters inside a context: `cl::ParseCommandLineOptions` (which llvmlite's `set_option` calls),
the resets, and `addOccurrence` of LLVM's own option objects.

Native code shows contained values to the thread until it leaves (native/intercept/setters). This module
makes contexts that hold such values, and reports values that a context did not contain.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from optctx import _native
from optctx._native import Kind
from optctx.engine.attach import engine_of
from optctx.errors import (
    ContainmentError,
    ContainmentWarning,
    OptctxError,
    OptionTypeError,
    OptionValueError,
    UnsupportedImageError,
    shown,
)
from optctx.tasks.problems import tell
from optctx.values.contents import Contents
from optctx.values.overrides import Override
from optctx.values.texts import texts_of

if TYPE_CHECKING:
    from optctx._native import Setting
    from optctx.engine.attach import Engine
    from optctx.plan.plan import PlannedOption

__all__ = ["Given", "SetsMode", "contents_with", "native_mode"]

SetsMode = Literal["contain", "process", "error"]
# Whether all options were reset; and what was set since, by slot: the storage, and (name, text) of each
# occurrence.
Given = tuple[bool, Mapping[int, "tuple[list[tuple[str, str | None]], Setting]"]]

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
    if mode != "contain" and not engine.mechanism.follows_tasks:
        raise UnsupportedImageError(
            f'sets="{mode}" cannot be had where threads take turns: what is set inside a scope ends with it '
            f'({engine.choice.reason}); use sets="contain"'
        )
    return _MODES[mode]


def contents_with(engine: Engine, contents: Contents, given: Given) -> tuple[Contents, list[Override]]:
    """Put what the setters were `given` on top of `contents`. Returns the result and the new overrides."""
    was_reset, by_slot = given
    if was_reset:
        kept = {name: each for name, each in _all(contents).items() if each.setting is None}
        contents = Contents(engine.space.no_drift(), kept, {})
    new = [_override(engine, slot, *occurrences) for slot, occurrences in by_slot.items()]
    own = {**contents.own, **{override.option.record.name: override for override in new}}
    return contents._replace(own=own), new


def _all(contents: Contents) -> dict[str, Override]:
    return {**contents.inherited, **contents.own}


def _override(
    engine: Engine, slot: int, occurrences: list[tuple[str, str | None]], setting: Setting
) -> Override:
    """The override for an option that was set inside, under the name of its last occurrence.

    Without occurrences, code wrote the value through a pointer. The texts are then made from the value.
    """
    option = engine.plan.owners[slot]
    if not occurrences:
        return _written(engine, option, setting)
    last = occurrences[-1][0]
    texts = tuple(text for name, text in occurrences if name == last)
    return Override(last, texts, option, setting)


def _written(engine: Engine, option: PlannedOption, setting: Setting) -> Override:
    if option.record.type.kind == Kind.other:
        raise OptionValueError(
            f"{option.record.name!r} was written through a pointer inside the scope, and its value has no "
            "text; give it to LLVM's setters, or to a context"
        )
    unnamed = Override(option.record.name, (), option, setting)
    value = unnamed.value(engine)
    # A literal choice is a name of its option, such as -regbankselect-fast.
    name = value if isinstance(value, str) and value in option.record.names else option.record.name
    return Override(name, texts_of(option, name, value), option, setting)


def _not_contained(image: int, address: int) -> None:
    """Warn, from inside LLVM, that code in a context sets the option at `address` for the whole process."""
    option = engine_of(image).plan.options.get(address)
    if option is None:
        words = "an option that was registered after optctx attached has no storage of its own in contexts"
        advice = "set it before the scope"
        name = "an LLVM option"
    else:
        name = repr(option.record.name)
        words = f"contexts cannot contain it: {option.reason or 'it takes several values at once'}"
        advice = 'set it before the scope, or leave it to OptionContext(..., process_wide="exclusive")'
    tell(ContainmentWarning(f"{name} was set for the whole process inside a context; {words}; {advice}"))


def _ends_with_call(image: int, address: int) -> None:
    """Warn, from inside LLVM, that a value ends with this call: another thread entered this task's scope."""
    option = engine_of(image).plan.options.get(address)
    what = "a reset of LLVM's options" if option is None else f"the value given to {option.record.name!r}"
    tell(
        ContainmentWarning(
            f"{what} ended with the call: this thread works in a scope that another thread has entered, and "
            "must not change it; enter a context on this thread"
        )
    )


def _not_set(image: int, address: int) -> None:
    """Leave an error, from inside LLVM: the context of this thread refuses LLVM's setters."""
    option = engine_of(image).plan.options.get(address)
    what = "reset LLVM's options" if address == 0 else "set an LLVM option"
    if option is not None:
        what = f"set {option.record.name!r}"
    tell(
        ContainmentError(
            f'cannot {what} inside a context with sets="error": nothing was changed; leave the context '
            'before, or make it with sets="contain"'
        )
    )


def _failed(image: int, why: str) -> None:
    tell(OptctxError(f"an LLVM option was not set inside a context, nothing was changed: {why}"))


_native.set_setter_listeners(_not_contained, _ends_with_call, _not_set, _failed)
