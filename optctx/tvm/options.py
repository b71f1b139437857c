"""Makes overrides from a target's `cl-opt`. Every error names the place in the target."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from types import FrameType
from typing import Literal

from optctx.context import OptionContext
from optctx.context.bases import Base, layers_of_base
from optctx.engine.attach import attach
from optctx.engine.engine import Engine
from optctx.errors import (
    OptctxError,
    OptionTypeError,
    OptionValueError,
    ProcessWideOptionError,
    TargetError,
    TargetWarning,
    UnknownOptionError,
    UntrustedOptionError,
    shown,
)
from optctx.reads.unread import UnreadMode
from optctx.trust import Trust
from optctx.tvm.option import ClOption, read_option, texts_of_option
from optctx.tvm.target import Target, TargetLike
from optctx.values.overrides import Override, ProcessWideMode, make_override, scopable
from optctx.values.registry import find

__all__ = ["LlvmOptions", "UnknownMode", "check_unknown", "from_target", "read_options", "warn"]

UnknownMode = Literal["error", "warn"]

_PACKAGE = __name__.partition(".")[0] + "."


@dataclass(frozen=True)
class LlvmOptions:
    """The options of a target that this LLVM has, as given and as overrides."""

    options: tuple[ClOption, ...]
    overrides: tuple[Override, ...]


def from_target(
    target: TargetLike,
    *,
    base: Base = "inherit",
    process_wide: ProcessWideMode = "refuse",
    unread: UnreadMode = "ignore",
    unknown: UnknownMode = "error",
) -> OptionContext:
    """Make a context from the LLVM options (`cl-opt`) of a target in TVM's notation.

    `from_target("llvm -cl-opt=-unroll-count:uint=4")` equals `OptionContext(unroll_count=4)`. The other keys
    of the target are only checked; `LLVMTarget` makes a target machine from them. If an option is given
    twice, the last one counts. Changes nothing.

    Args:
        target: One line, JSON as text or as a mapping, or a Target.
        base, process_wide, unread: As for `OptionContext`.
        unknown: What to do about an option that this LLVM does not have. "warn" leaves it out with a
            TargetWarning, as TVM does.

    Raises:
        TargetError: The target cannot be read, or an option in it has another form than
            `-name[[:type]=value]`.
        OptionTypeError: The type of an option is not the one that LLVM registered. For TVM this is undefined
            behaviour.
        UnknownOptionError, OptionValueError, ProcessWideOptionError: As for `OptionContext`.
        UnsupportedImageError: The process has no LLVM that optctx can use.
    """
    check_unknown(unknown)
    engine = attach()
    read = read_options(engine, Target(target), process_wide, unknown)
    inherited = layers_of_base(engine, base)
    return OptionContext._of(inherited.on_top(read.overrides), inherited, unread)


def read_options(
    engine: Engine,
    target: Target,
    mode: ProcessWideMode = "refuse",
    unknown: UnknownMode | Literal["skip"] = "error",
    *,
    trust: Trust | None = None,
    whose: str = "the target",
) -> LlvmOptions:
    """Read the options of a target. Errors call the target `whose`.

    `trust`: what the target may set; None for everything. Raises as `from_target` does, and
    UntrustedOptionError.
    """
    options: list[ClOption] = []
    overrides: dict[str, Override] = {}
    for index, text in enumerate(target.attrs.get("cl-opt", ())):
        try:
            option = read_option(text)
            if unknown != "error" and option.name not in engine.options:
                if unknown == "warn":
                    warn(f"cl-opt[{index}] {shown(text)} of {whose} is left out: LLVM has no such option")
                continue
            override = _override(engine, option, mode, trust)
        except OptctxError as error:
            raise _placed(f"cannot use cl-opt[{index}] {shown(text)} of {whose}", error) from None
        options.append(option)
        overrides.pop(override.option.name, None)  # the last of several counts
        overrides[override.option.name] = override
    return LlvmOptions(tuple(options), tuple(overrides.values()))


def check_unknown(unknown: object) -> None:
    """Raise OptionTypeError if `unknown` is not "error" or "warn"."""
    if unknown not in ("error", "warn"):
        raise OptionTypeError(f'unknown is "error" or "warn", found {shown(unknown)}')


def warn(text: str) -> None:
    """Issue a TargetWarning for the innermost line outside this package."""
    level = 1
    frame: FrameType | None = sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(text, TargetWarning, stacklevel=level)


def _override(engine: Engine, option: ClOption, mode: ProcessWideMode, trust: Trust | None) -> Override:
    registered = engine.resolve(find(engine, option.name))
    if trust is not None:
        trust.check(registered, option.name)
        trust.check_text(registered, option.name, (option.text,))
    texts = texts_of_option(option, scopable(engine, option.name, mode))
    override = make_override(engine, option.name, texts, mode)
    if trust is not None:
        trust.check_value(registered, option.name, override.value())
    return override


def _placed(where: str, error: OptctxError) -> OptctxError:
    """The same error with the place in front."""
    text = f"{where}: {error}"
    if isinstance(error, UnknownOptionError):
        return UnknownOptionError(text, error.name, error.suggestions)
    if isinstance(error, ProcessWideOptionError):
        return ProcessWideOptionError(text, error.name, error.reason)
    if isinstance(error, UntrustedOptionError):
        return UntrustedOptionError(text, error.name, error.trust)
    for kind in (OptionTypeError, OptionValueError, TargetError):
        if isinstance(error, kind):
            return kind(text)
    return error
