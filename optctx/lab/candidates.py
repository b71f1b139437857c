"""Which options a ranking tries among those that were read, and their values."""

from __future__ import annotations

import contextlib
import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources

from optctx import Option, OptionContext, Read, registry
from optctx.compiling import Image
from optctx.compiling.facts import INTEGER_RANGES, Value, resolve, text
from optctx.errors import OptctxError
from optctx.lab.space import Space, parse_dimension

_MOST_LISTED = 10_000  # values of a range
_MANY = 1024  # the least number that counts as large; a power of two, as numbers of vector lanes must be
_FACTOR = 16  # a number this many times its base counts as large
_GLOB = "*?["


@dataclass(frozen=True)
class NotTried:
    """An option that was read or asked for, but not tried."""

    option: str
    type: str
    reason: str


@dataclass(frozen=True)
class Candidate:
    """An option to try. `values`: their texts, and what each sets; the first `wanted` of them are tried, and
    of the others the next one if those before give no output, or are `likely` to matter and change nothing.
    """

    read: Read
    type: str
    values: Mapping[str, Mapping[str, str]]
    wanted: int
    likely: bool


def given_values(values: Sequence[str], image: Image | None) -> dict[str, list[str]]:
    """Option -> the values to try. Raises OptctxError for what cannot be read or listed, or LLVM refuses."""
    dimensions = [parse_dimension(setting, image) for setting in values]
    for each in dimensions:
        if each.values.count > _MOST_LISTED:
            raise OptctxError(
                f"cannot try {each.values} for {each.name!r}: expected at most {_MOST_LISTED:,} values; give "
                "fewer"
            )
    return {
        resolve(each.name, image): [str(value) for value in each.values.each()]
        for each in Space.of(dimensions, image).dimensions
    }


def choose(
    reads: Mapping[str, Read],
    image: Image | None,
    *,
    only: Sequence[str],
    values: Mapping[str, Sequence[str]],
) -> tuple[list[Candidate], list[NotTried]]:
    """Choose options among `reads` by patterns, each with values that LLVM's parsers accept.

    Those that changed the output of other files come first. Raises OptctxError for a pattern of `only` that
    matches no option at all.
    """
    options = registry(image)
    wanted, unread = _wanted(reads, image, only, values)
    not_tried = [NotTried(name, options[name].type, _why_unread(options[name])) for name in unread]
    names = (resources.files("optctx.lab") / "likely.txt").read_text().split()
    likely = {name: place for place, name in enumerate(names)}
    candidates = []
    for name in wanted:
        option, read = options[name], reads[name]
        found, reason = _values(option, read, values.get(name))
        planned: dict[str, Mapping[str, str]] = {}
        for value in found:
            own = _settings(option, value)
            with contextlib.suppress(OptctxError):
                OptionContext(own, image=image)
                planned[_text(value)] = own
        if planned:
            count = len(planned) if name in values else 1
            candidates.append(Candidate(read, option.type, planned, count, name in likely))
        else:
            not_tried.append(NotTried(name, option.type, reason or "LLVM takes none of the values"))
    candidates.sort(key=lambda each: likely.get(each.read.name, len(likely)))
    not_tried.sort(key=lambda each: (each.reason, each.option))
    return candidates, not_tried


def _wanted(
    reads: Mapping[str, Read],
    image: Image | None,
    only: Sequence[str],
    values: Mapping[str, Sequence[str]],
) -> tuple[list[str], list[str]]:
    """The names that are wanted: those that were read, and those that were named without that."""
    named, globs = dict.fromkeys(values), []
    for pattern in (each.lstrip("-") for each in only):
        if not any(character in pattern for character in _GLOB):
            named[resolve(pattern, image)] = None
        elif not fnmatch.filter(registry(image), pattern):
            raise OptctxError(f"no option matches {pattern!r}; `optctx options` shows them all")
        else:
            globs.append(pattern)

    def is_wanted(name: str) -> bool:
        return not only or name in named or any(fnmatch.fnmatchcase(name, each) for each in globs)

    return [name for name in reads if is_wanted(name)], [name for name in named if name not in reads]


def _why_unread(option: Option) -> str:
    unseen = option.scope == "process"
    return "it cannot be scoped, so its reads are not seen" if unseen else "LLVM did not read it"


def _values(option: Option, read: Read, given: Sequence[str] | None) -> tuple[list[Value], str]:
    """(values to try, the reason if there are none)."""
    if given is not None:
        return [*given], ""
    if len(read.values) != 1:
        return [], "LLVM read several values of it"
    if _opens_windows(option):
        return [], "it opens windows"
    found = values_within_type(option, read.value)
    if found:
        return found, ""
    choice = option.type in ("enum", "bits", "set")
    return [], "there is no other choice" if choice else f"no values can be guessed for type {option.type}"


def _opens_windows(option: Option) -> bool:
    """Whether LLVM draws graphs and starts a program to show them, such as -view-isel-dags."""
    parts = option.name.split("-")
    return option.type in ("bool", "enum") and any(part.startswith("view") for part in parts)


def _settings(option: Option, value: Value) -> dict[str, str]:
    """What a context with one value sets."""
    if isinstance(value, str) and value in (option.name, *option.aliases):
        return {value: "true"}  # a literal choice, such as -regbankselect-fast
    return {option.name: _text(value)}


def _text(value: Value) -> str:
    return value if isinstance(value, str) else text(value)


def values_within_type(option: Option, base: Value) -> list[Value]:
    """The values to try for an option whose value is `base`, the most telling first, without `base` itself.

    They are the other value of a bool, every other choice of an enum, or a few numbers on both sides. Empty
    for types whose values cannot be guessed.
    """
    kind = option.type
    if kind == "bool":
        return [not base]
    if kind == "boolOrDefault":
        return [value for value in (True, False) if value is not base]
    if kind == "enum":
        return [choice for choice in option.choices if choice != base]
    if kind in ("bits", "set"):
        return [[choice] for choice in option.choices if [choice] != base]
    if kind in INTEGER_RANGES and isinstance(base, int):
        least, most = INTEGER_RANGES[kind]
        return _others((value for value in _integers(base, least < 0) if least <= value <= most), base)
    if kind in ("float", "double") and isinstance(base, float):
        near = [2.0, 0.5, 1.0] if base == 0 else [0.0, 1.0, base / 2, base * 2]
        return _others([*near, max(float(_MANY), abs(base) * _FACTOR)], base)
    return []


def _integers(base: int, signed: bool) -> list[int]:
    """0 or, if the base is 0 or 1, 2: they change more than others do (design/rank.md). Then more of both
    sides: the half and the double, and the ends of the useful range.
    """
    near = [2, 4, 0, 1] if base in (0, 1) else [0, 1, base // 2, base * 2]
    large = max(_MANY, abs(base) * _FACTOR)
    return [*near, large, *([-large] if signed else [])]


def _others(values: Iterable[int | float], base: int | float) -> list[Value]:
    return [value for value in dict.fromkeys(values) if value != base]
