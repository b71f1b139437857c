"""What an option takes, in words: the end of a message about a value that LLVM's parser refused."""

from __future__ import annotations

from collections.abc import Sequence

from optctx._native import Kind
from optctx.engine.plan import PlannedOption
from optctx.image.typenames import INTEGER_RANGES, type_name
from optctx.wording import did_you_mean, nearest

__all__ = ["expectation"]

_MOST_CHOICES = 12  # in a message
_FLOATS = (Kind.float32, Kind.float64)


def expectation(option: PlannedOption, texts: Sequence[str]) -> str:
    """Say what the option takes, or suggest the choice nearest to the given text. May be empty."""
    kind = option.record.type.kind
    if option.record.choices is not None:
        return _choices(list(option.record.choices.names()), texts)
    split = [part for text in texts for part in text.split() if part.startswith("-") and len(part) > 1]
    if split and not split[0][1:].isdigit() and " " in texts[-1]:
        return "write each option as a word of its own"
    if kind == Kind.list:
        kind = option.record.type.element
    return _by_kind(kind)


def _by_kind(kind: Kind) -> str:
    name = type_name(kind)
    if name in INTEGER_RANGES:
        least, most = INTEGER_RANGES[name]
        return f"expected a whole number from {least:,} to {most:,}"
    if kind in _FLOATS:
        return "expected a number, such as 0.5"
    return "expected one character" if kind == Kind.character else ""


def _choices(choices: list[str], texts: Sequence[str]) -> str:
    known = [choice for choice in choices if choice]
    wrong = [part for text in texts for part in text.split(",") if part not in choices]
    if near := did_you_mean(name for part in wrong[:1] for name in nearest(part, known)):
        return near
    more = f" and {len(known) - _MOST_CHOICES} more" if len(known) > _MOST_CHOICES else ""
    return f"expected one of {', '.join(known[:_MOST_CHOICES])}{more}"
