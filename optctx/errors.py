"""The one tree of errors. Each message names what was attempted, expected and found, and what to do.

Nothing here prints, exits or changes state; an error raised by optctx leaves every option as it was.
"""

from __future__ import annotations

import sys

__all__ = [
    "AuditError",
    "CacheWarning",
    "ContainmentError",
    "ContainmentWarning",
    "ContextMismatchError",
    "ContextMismatchWarning",
    "DriftWarning",
    "EngineWarning",
    "LinkMismatchError",
    "NumbaOptionsWarning",
    "OptctxError",
    "OptionTypeError",
    "OptionValueError",
    "PassPipelineError",
    "ProcessWideOptionError",
    "ScopeError",
    "TargetError",
    "TargetWarning",
    "UnknownOptionError",
    "UnreadOptionError",
    "UnreadOptionWarning",
    "UnsupportedImageError",
    "UntrustedOptionError",
    "UntrustedOptionWarning",
    "level_outside",
    "shown",
]

_MOST = 200  # characters of a value in a message


class OptctxError(Exception):
    """Base of every error that optctx raises on purpose."""


class UnknownOptionError(OptctxError, KeyError):
    """No option of that name is registered; `suggestions` holds the nearest names."""

    def __init__(self, message: str, name: str = "", suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.suggestions = suggestions

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class OptionValueError(OptctxError, ValueError):
    """LLVM's own parser refused the text; the message carries its words."""


class OptionTypeError(OptctxError, TypeError):
    """A Python value of a type that the option does not take, or a lookup under another type."""


class ScopeError(OptctxError, RuntimeError):
    """A scope was left out of order, on another thread or without having been entered; or another task holds
    one on this thread across an `await`."""


class ContainmentError(ScopeError):
    """Code inside a context with `sets="error"` tried to set an LLVM option; nothing was changed."""


class ContainmentWarning(UserWarning):
    """Code inside a context has set an LLVM option for the whole process: contexts cannot contain it."""


class ContextMismatchError(ScopeError):
    """LLVM was to run on a module of a bound LLVMContext under other option values; nothing has run."""


class ContextMismatchWarning(UserWarning):
    """LLVM ran on a module of a bound LLVMContext under other option values, those of its thread."""


class LinkMismatchError(OptctxError):
    """Modules that are to be linked, or were, were compiled with different options."""


class DriftWarning(UserWarning):
    """The process-wide value of an LLVM option has changed; `event` is the record of it."""

    def __init__(self, event: object) -> None:
        super().__init__(str(event))
        self.event = event


class ProcessWideOptionError(OptctxError):
    """The option cannot be set for one thread; the message says why."""

    def __init__(self, message: str, name: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.reason = reason


class PassPipelineError(OptctxError, ValueError):
    """LLVM could not parse a textual pass pipeline; the message carries its words."""


class TargetError(OptctxError, ValueError):
    """A target in TVM's notation that cannot be read, or that asks for what llvmlite cannot make."""


class TargetWarning(UserWarning):
    """A target in TVM's notation names something that this LLVM does not have; it was left out."""


class UnsupportedImageError(OptctxError):
    """No LLVM in the process, or one whose layout does not check out; nothing was changed."""


class UnreadOptionError(OptctxError):
    """LLVM read nothing of an override while its scope was entered.

    `names` holds the options, `causes` a sentence for each of them.
    """

    def __init__(self, message: str, names: tuple[str, ...] = (), causes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.names = names
        self.causes = causes


class UnreadOptionWarning(UserWarning):
    """LLVM read nothing of an override while its scope was entered."""


class UntrustedOptionError(OptctxError):
    """Something that came with a module asks for an option, or a value, that is not accepted from modules.

    `name` is the option, or empty; `trust` its class: "tuning", "output", "input", "code" or "process".
    """

    def __init__(self, message: str, name: str = "", trust: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.trust = trust


class UntrustedOptionWarning(UserWarning):
    """The attribute "optctx" of a function was refused, and the function compiled without it."""


class AuditError(OptctxError, RuntimeError):
    """An audit could not start, with nothing changed, or may have missed accesses."""


class CacheWarning(RuntimeWarning):
    """A compile cache could not read or change its folder; it warns once of each kind of problem."""


class NumbaOptionsWarning(UserWarning):
    """A function of `optctx.numba` that was compiled under one context is called under another."""


class EngineWarning(RuntimeWarning):
    """LLVM's code cannot be changed, so threads with different options take turns; the message says why."""


def shown(value: object) -> str:
    """What a caller passed, for a message: its repr, cut where it is long. Never raises."""
    try:
        text = repr(value)
    except Exception:  # an int of too many digits; whatever a class of the caller's does
        return f"a {type(value).__name__} that has no repr"
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def level_outside() -> int:
    """Stack level, as `warnings.warn` counts it from its caller, of the first function outside optctx."""
    package = __name__.partition(".")[0]
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        frame = frame.f_back
        level += 1
    return level
