"""Makes overrides from the stamps of a module, and checks that its stamps agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from optctx._native import Kind
from optctx.context.contents import resolve_base
from optctx.context.override import Override, make_override
from optctx.context.scopable import ProcessWideMode
from optctx.context.stamps import Stamp, called, module_label, read_stamps
from optctx.context.text import Texts
from optctx.engine.attach import Engine
from optctx.errors import (
    LinkMismatchError,
    OptctxError,
    OptionValueError,
    ProcessWideOptionError,
    UnknownOptionError,
    UntrustedOptionError,
    shown,
)
from optctx.registry.registry import find
from optctx.registry.values import Value
from optctx.trust import Trust

if TYPE_CHECKING:
    from optctx.context.context import OptionContext

__all__ = ["agreed", "in_words", "stamped_overrides", "taken", "trusted_overrides"]

_SHOWN = 5  # options that a message lists
_LONGEST = 1024  # characters of a value that is parsed only to be compared
_MOST_DIFFERENT = 64  # stamps to compare; different texts may stand for the same values


def stamped_overrides(
    engine: Engine, module: object, mode: ProcessWideMode, trust: Trust
) -> list[tuple[Stamp, list[Override]]]:
    """The different stamps of a module, each with its overrides.

    Raises as `read_stamps` does, OptctxError for a module without a stamp, and LinkMismatchError for one with
    more than 64 different stamps. Raises UntrustedOptionError, and as `make_override` does, with the name of
    the stamped module.
    """
    stamps = read_stamps(module)
    if not stamps:
        raise OptctxError(
            f"cannot take the options of {called(module_label(module))}: it carries no stamp; call "
            "optctx.stamp(module, context) in the step that compiles it"
        )
    different = {tuple(sorted(stamp.options.items())): stamp for stamp in reversed(stamps)}
    if len(different) > _MOST_DIFFERENT:
        raise LinkMismatchError(
            f"cannot take the options of {called(module_label(module))}: it was linked of modules that were "
            f"compiled with {len(different)} different sets of options; `optctx check-link` shows them"
        )
    return [
        (stamp, trusted_overrides(engine, stamp.options, called(stamp.producer), mode, trust))
        for stamp in reversed(different.values())
    ]


def taken(engine: Engine, stamp: Stamp) -> tuple[OptionContext, dict[str, Texts]]:
    """A context of the options in a stamp that this LLVM accepts, and the texts of the others by name."""
    from optctx.context.context import OptionContext

    made, refused = [], {}
    for name, texts in stamp.options.items():
        try:
            if any(text is not None and len(text) > _LONGEST for text in texts):
                raise OptctxError  # LLVM never frees the texts of some options
            made.append(_override(engine, name, texts, "exclusive"))
        except OptctxError:
            known = engine.options.get(name)
            refused[engine.resolve(known).record.name if known else name] = texts
    return OptionContext._from(engine, resolve_base(engine, "defaults", None), made), refused


def _override(engine: Engine, name: str, texts: Texts, mode: ProcessWideMode) -> Override:
    """The override for one option of a stamp. Raises as `make_override` does."""
    if not texts and find(engine, name).record.type.kind not in (Kind.list, Kind.bits):
        raise OptionValueError(f"cannot set {name!r} without an occurrence: it is no list")
    return make_override(engine, name, texts, mode)


def trusted_overrides(
    engine: Engine, options: Mapping[str, Texts], whose: str, mode: ProcessWideMode, trust: Trust
) -> list[Override]:
    """The overrides that an untrusted text asks for; errors begin with "cannot take the options of `whose`".

    Raises UntrustedOptionError, UnknownOptionError, OptionValueError and ProcessWideOptionError.
    """
    where = f"cannot take the options of {whose}"
    try:
        return [_trusted_override(engine, name, texts, mode, trust) for name, texts in options.items()]
    except UntrustedOptionError as error:
        raise UntrustedOptionError(f"{where}: {error}", error.name, error.trust) from None
    except UnknownOptionError as error:
        raise UnknownOptionError(f"{where}: {error}", error.name, error.suggestions) from None
    except ProcessWideOptionError as error:
        raise ProcessWideOptionError(f"{where}: {error}", error.name, error.reason) from None
    except OptionValueError as error:
        raise OptionValueError(f"{where}: {error}") from None


def _trusted_override(
    engine: Engine, name: str, texts: Texts, mode: ProcessWideMode, trust: Trust
) -> Override:
    """As `_override`. Raises UntrustedOptionError for an option or value that modules may not set."""
    option = engine.resolve(find(engine, name))
    trust.check(option, name)
    trust.check_text(option, name, texts)
    override = _override(engine, name, texts, mode)
    trust.check_value(option, name, override.value(engine))
    return override


def agreed(found: Sequence[tuple[Stamp, OptionContext]]) -> OptionContext:
    """The context that all stamps of a module agree on. Raises LinkMismatchError if they differ."""
    (first, context), *others = found
    for stamp, other in others:
        if other != context:
            raise LinkMismatchError(
                f"cannot take the options of a linked module: {called(first.producer)} and "
                f"{called(stamp.producer)} in it were compiled with different ones, "
                f"{_differences(context, other)}; compile them with the same options, or make a context by "
                "hand (`optctx check-link` shows every difference)"
            )
    return context


def in_words(value: Value, given: bool) -> str:
    """The state of an option, for a message. LLVM can tell a default that was given from one that was not."""
    return shown(value) if given else f"not given ({shown(value)})"


def _differences(one: OptionContext, other: OptionContext) -> str:
    names = list(one.diff(other))
    words = [f"{name!r} ({_said(one, name)} and {_said(other, name)})" for name in names[:_SHOWN]]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(words) + more


def _said(context: OptionContext, name: str) -> str:
    return in_words(context[name], context._state(name)[1])
