"""All errors, in one tree. Each message says what was attempted, expected and found, and what to do.

Nothing here prints, exits or changes state; an error raised by optctx leaves every option as it was.
"""

from __future__ import annotations

import sys
from typing import Any, get_args

from optctx.wording import printable

_MOST = 200  # characters of a value in a message
_MOST_SAID = 1000  # characters of LLVM's words in a message


class Interrupted(KeyboardInterrupt):
    """Ctrl-C ended long work. `partial` is the result so far, of the type that the work returns."""

    def __init__(self, partial: Any) -> None:
        super().__init__("interrupted")
        self.partial = partial


class OptctxError(Exception):
    """Base of every error that optctx raises on purpose."""


class EndedEarlyError(OptctxError):
    """What was asked for is sound, but it ended early: the disk is full, or a helper process was killed.

    `partial` is the result of a `sweep`, `rank` or `tune` so far; None of other work.
    """

    partial: Any = None


class UnknownOptionError(OptctxError, KeyError):
    """No option of that name is registered. `suggestions` holds the nearest names."""

    def __init__(self, message: str, name: str = "", suggestions: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.name = name
        self.suggestions = suggestions

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class OptionValueError(OptctxError, ValueError):
    """LLVM's own parser refused the text. The message has LLVM's words."""


class OptionTypeError(OptctxError, TypeError):
    """A Python value has a type that the option does not accept, or a lookup asked for another type."""


class ScopeError(OptctxError, RuntimeError):
    """A scope was left out of order, on another thread or without having been entered, or another task holds
    one on this thread across an `await`."""


class ContainmentWarning(UserWarning):
    """Code inside a context has set an LLVM option, and the effect is not what that code may expect.

    The value ends with the scope, because the context contains it. Or it holds for the whole process, because
    contexts cannot contain the option.
    """


class ContextMismatchError(ScopeError):
    """A run was refused because of other option values.

    They are those of the thread, where the module's LLVMContext is bound with `on_mismatch="error"`. Or a
    pass manager was made under them and cannot be made again under those of the run.
    """


class ContextMismatchWarning(UserWarning):
    """LLVM ran on a module of a bound LLVMContext under the option values of the thread, which differ."""


class OutsideScopeError(ScopeError):
    """LLVM was to compile outside every scope under `attach(outside="error")`. Nothing has been run."""


class OutsideScopeWarning(UserWarning):
    """LLVM compiles outside every scope under `attach(outside="warn")`, with the process-wide values."""


class LinkMismatchError(OptctxError):
    """Modules to be linked, or parts of a linked module, were compiled with different options."""


class ProcessWideOptionError(OptctxError):
    """The option cannot be set for one thread. The message says why."""

    def __init__(self, message: str, name: str = "", reason: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.reason = reason


class PassPipelineError(OptctxError, ValueError):
    """LLVM could not parse a textual pass pipeline. The message has LLVM's words."""


class UnsupportedImageError(OptctxError):
    """The process has no LLVM, or one that optctx cannot use in this way. Nothing was changed."""


class UnreadOptionError(OptctxError):
    """LLVM did not read an override while its scope was entered.

    `names` holds the options, `causes` a sentence for each of them.
    """

    def __init__(self, message: str, names: tuple[str, ...] = (), causes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.names = names
        self.causes = causes


class UnreadOptionWarning(UserWarning):
    """LLVM did not read an override while its scope was entered."""


class UntrustedOptionError(OptctxError):
    """A module asks for an option, or a value, that is not accepted from modules.

    `name` is the option, or empty. `trust` is its class: "tuning", "output", "input", "code" or "process".
    """

    def __init__(self, message: str, name: str = "", trust: str = "") -> None:
        super().__init__(message)
        self.name = name
        self.trust = trust


class UntrustedOptionWarning(UserWarning):
    """The attribute "optctx" of a function was refused, and the function compiled without it."""


class CacheWarning(RuntimeWarning):
    """A compile cache could not read or change its folder. It warns once of each kind of problem."""


class NumbaOptionsWarning(UserWarning):
    """Numba does not cache a function, because its key could not tell under which options it was compiled."""


def shown(value: object) -> str:
    """Return the repr of a value that a caller passed, for a message; cut if it is long. Never raises.

    It is one line of printable characters, whatever the caller's class returns.
    """
    try:
        text = printable(repr(value))
    except Exception:  # an int with too many digits, or an error in the caller's class
        return f"a {type(value).__name__} that has no repr"
    return text if len(text) <= _MOST else f"{text[:_MOST]}..."


def clipped(words: str) -> str:
    """Put what LLVM or another library says on one line, for a message: drop the middle of a long text."""
    words, half = printable(words), _MOST_SAID // 2
    return words if len(words) <= _MOST_SAID else f"{words[:half]}...{words[-half:]}"


def reason(error: Exception) -> str:
    """Return why a file could not be used, in the words of the system, or of Python before it."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def check_choice(what: str, given: object, kind: Any) -> None:
    """Raise OptionTypeError for a value that is none of the literals of a type."""
    choices = get_args(kind)
    if not isinstance(given, str) or given not in choices:
        *others, last = (f'"{choice}"' for choice in choices)
        raise OptionTypeError(f"{what} is {', '.join(others)} or {last}, found {shown(given)}")


def llvms_reason(said: str) -> str:
    """Extract why LLVM refuses a value, without the name of the program that it parsed for last.

    LLVM says "tool: for the --name option: ...".
    """
    _, found, rest = said.partition("for the -")
    return clipped((found + rest if found else said).strip(": \n")) or "no reason given"


def level_outside(*others: str) -> int:
    """Return the `stacklevel`, for the caller's `warnings.warn`, of the innermost function outside optctx.

    `others`: packages that count as optctx does.
    """
    packages = {__name__.partition(".")[0], *others}
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in packages:
        frame = frame.f_back
        level += 1
    return level
