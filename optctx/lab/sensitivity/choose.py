"""Chooses the options to try among those that were read, and their values."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optctx import Option, OptionContext, Read, registry
from optctx.engine.attach import attach
from optctx.errors import OptctxError
from optctx.lab.sensitivity.report import NotTried
from optctx.lab.sensitivity.values import UNSET, values_within_type, why_no_values
from optctx.process import command_line
from optctx.values.read_values import Value
from optctx.values.registry import find
from optctx.values.texts import Texts
from optctx.wording import counted

__all__ = ["Candidate", "Chosen", "Planned", "choose", "targets_of"]

_GLOB = "*?["


@dataclass(frozen=True)
class Planned:
    """A value to try, and the whole command line for the fresh process that tries it."""

    value: Value
    options: tuple[str, ...]


@dataclass(frozen=True)
class Candidate:
    """An option to try."""

    option: str
    type: str
    base: Value
    functions: tuple[str, ...]
    planned: tuple[Planned, ...]


@dataclass(frozen=True)
class Chosen:
    """`refused`: (option, value, LLVM's words) for values that LLVM's parsers do not accept."""

    candidates: tuple[Candidate, ...]
    not_tried: tuple[NotTried, ...]
    refused: tuple[tuple[str, Value, str], ...]


def choose(
    reads: Mapping[str, Read],
    context: OptionContext,
    *,
    options: Sequence[str],
    exclude: Sequence[str],
    values: Mapping[str, Sequence[str]],
    max_trials: int | None,
) -> Chosen:
    """Choose options among `reads` by the patterns, each with values that LLVM's parsers accept.

    Raises OptctxError for a pattern of `options` that matches no option at all.
    """
    texts = context._layers.flat()
    wanted = _wanted(reads, options, exclude, values)
    not_tried = [NotTried(name, registry()[name].type, _why_unread(name)) for name in wanted.unread]
    refused: list[tuple[str, Value, str]] = []
    candidates = []
    for name in wanted.read:
        option, read = registry()[name], reads[name]
        found, reason = _values(option, read, values.get(name))
        planned = []
        for value in found:
            try:
                planned.append(Planned(value, _with(context, texts, option, value)))
            except OptctxError as error:
                refused.append((name, value, str(error)))
                reason = "LLVM takes none of the values"
        if planned:
            base = read.values[0]
            candidates.append(Candidate(name, option.type, base, read.functions, tuple(planned)))
        else:
            not_tried.append(NotTried(name, option.type, reason))
    kept, left = _first(candidates, max_trials)
    beyond = f"beyond {counted(max_trials or 0, 'trial')}"
    not_tried.extend(NotTried(each.option, each.type, beyond) for each in left)
    return Chosen(
        tuple(kept), tuple(sorted(not_tried, key=lambda each: (each.reason, each.option))), tuple(refused)
    )


def targets_of(names: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Replace each name by the one that reads have: an option's own, not that of an alias or a choice.

    Raises UnknownOptionError, with the nearest names.
    """
    return {_target(name): values for name, values in names.items()}


@dataclass(frozen=True)
class _Wanted:
    read: list[str]
    unread: list[str]  # named, but not read


def _wanted(
    reads: Mapping[str, Read],
    options: Sequence[str],
    exclude: Sequence[str],
    values: Mapping[str, Sequence[str]],
) -> _Wanted:
    named = [*values]
    patterns = []
    for pattern in (pattern.lstrip("-") for pattern in options):
        if any(character in pattern for character in _GLOB):
            if not fnmatch.filter(registry(), pattern):
                raise OptctxError(f"no option matches {pattern!r}; `optctx options` shows them all")
            patterns.append(pattern)
        else:
            named.append(_target(pattern))
    left_out = [pattern.lstrip("-") for pattern in exclude]

    def is_wanted(name: str) -> bool:
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in left_out):
            return False
        return not options or name in named or any(fnmatch.fnmatchcase(name, each) for each in patterns)

    unread = dict.fromkeys(name for name in named if name not in reads and is_wanted(name))
    return _Wanted([name for name in reads if is_wanted(name)], list(unread))


def _target(name: str) -> str:
    engine = attach()
    return engine.resolve(find(engine, name.lstrip("-"))).name


def _why_unread(name: str) -> str:
    unseen = registry()[name].scope == "process"
    return "it cannot be scoped, so its reads are not seen" if unseen else "LLVM did not read it"


def _values(option: Option, read: Read, given: Sequence[str] | None) -> tuple[list[Value], str]:
    """(values to try, the reason if there are none)."""
    if given is not None:
        return [*given], ""
    if len(read.values) != 1:
        return [], "LLVM read several values of it"
    if _opens_windows(option):
        return [], "it opens windows"
    return values_within_type(option, read.value), why_no_values(option)


def _opens_windows(option: Option) -> bool:
    """Whether LLVM draws graphs and starts a program to show them, such as -view-isel-dags."""
    parts = option.name.split("-")
    return option.type in ("bool", "enum") and any(part.startswith("view") for part in parts)


def _with(
    context: OptionContext, texts: Mapping[str, Texts], option: Option, value: Value
) -> tuple[str, ...]:
    """The command line with one option changed. Raises as OptionContext does if LLVM refuses the value."""
    own = (option.name, *option.aliases)
    if value is UNSET:
        return command_line({name: given for name, given in texts.items() if name not in own})
    named: dict[str, object] = {option.name: value}
    if isinstance(value, str) and value in own:
        named = {value: True}  # a literal choice, such as -regbankselect-fast
    changed = OptionContext(named, base=context, process_wide="exclusive")
    return command_line(changed._layers.flat())


def _first(candidates: Sequence[Candidate], most: int | None) -> tuple[list[Candidate], list[Candidate]]:
    """Split into (kept, left out), with at most `most` trials: first values first, then second values, ..."""
    if most is None:
        return list(candidates), []
    turns = sorted(
        (turn, number) for number, each in enumerate(candidates) for turn in range(len(each.planned))
    )
    allowed = [0] * len(candidates)
    for _, number in turns[:most]:
        allowed[number] += 1
    kept = [
        Candidate(each.option, each.type, each.base, each.functions, each.planned[:count])
        for each, count in zip(candidates, allowed, strict=True)
        if count
    ]
    return kept, [each for each, count in zip(candidates, allowed, strict=True) if not count]
