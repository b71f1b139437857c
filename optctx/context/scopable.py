"""Which options a context may set."""

from __future__ import annotations

from typing import Literal

from optctx._native import Kind
from optctx.engine.attach import Engine
from optctx.engine.refusals import COPIED_FOR_GOOD, PlannedOption
from optctx.errors import OptionTypeError, ProcessWideOptionError, shown
from optctx.registry.registry import find

__all__ = ["ProcessWideMode", "scopable"]

ProcessWideMode = Literal["refuse", "exclusive"]

# Options whose callback changes a single object, which can be restored with the option.
BISECTION = ("opt-bisect-limit",)
DEBUG_TYPES = ("debug-only",)
# Sizes in bytes of cl::location variables that have no symbol, by kind.
VARIABLE_SIZES = {Kind.boolean: 1, Kind.string: 8}
_PRINTS = "it makes LLVM print and end the process"
_NEVER = {
    **COPIED_FOR_GOOD,
    **dict.fromkeys(("help", "help-hidden", "help-list", "help-list-hidden", "version"), _PRINTS),
    "debug-counter": "its counters keep running, and where they were cannot be put back",
    "print-debug-counter": "it makes every debug counter count, which cannot be put back",
    "debug-buffer-size": "LLVM reads it once, when it first prints",
}


def scopable(engine: Engine, name: str, mode: ProcessWideMode = "refuse") -> PlannedOption:
    """Look up the option called `name`, through an alias too, if a context may set it.

    Raises UnknownOptionError, and ProcessWideOptionError with the reason if the option cannot be scoped. In
    mode "exclusive" it raises the latter only if the option could not be restored exactly either.
    """
    if mode not in ("refuse", "exclusive"):
        raise OptionTypeError(f'process_wide is "refuse" or "exclusive", found {shown(mode)}')
    option = engine.resolve(find(engine, name))
    if option.scope != "process" and option.slot is not None:
        return option
    never = _why_not(option)
    if mode == "refuse":
        raise ProcessWideOptionError(
            f"cannot set {name!r} for one thread: {option.reason}; {_instead(option, never)}",
            name,
            option.reason,
        )
    if never:
        raise ProcessWideOptionError(
            f"cannot set {name!r}, not even process-wide while a context is entered: {never}; "
            f"{_instead(option, never)}",
            name,
            never,
        )
    return option


def _instead(option: PlannedOption, never: str) -> str:
    """What to do about an option that cannot be scoped. `never`: why it cannot be restored, or empty."""
    if not never:
        return (
            'use process_wide="exclusive", which sets it for the whole process while the context is entered'
        )
    if never == _PRINTS:
        return "leave it out"
    setting = f"llvmlite.binding.set_option('', '-{option.record.name}=...')"
    return f"leave it out, or set it once, before anything compiles: {setting}"


def _why_not(option: PlannedOption) -> str:
    """Why a change of the option could not be undone exactly; empty if it could."""
    record = option.record
    kind = record.type.kind
    never = next((_NEVER[name] for name in record.names if name in _NEVER), "")
    if never:
        return never
    if record.callback and record.name not in BISECTION:
        return "it runs a callback, whose effect cannot be undone"
    if kind == Kind.other and record.name not in DEBUG_TYPES:
        return "its value has no form that could be put back"
    if not record.type.supported:
        return "its type has a layout that is not known here"
    if record.type.external and record.variable_size is None and kind not in VARIABLE_SIZES:
        return "its value is in storage (cl::location) of unknown size"
    return ""
