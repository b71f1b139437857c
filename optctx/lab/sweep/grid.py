"""Expands `--set` arguments into the combinations of option values that they span."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optctx.errors import OptctxError, shown

__all__ = [
    "DEFAULT",
    "MOST_COMBINATIONS",
    "Axis",
    "combinations",
    "count_combinations",
    "overrides",
    "parse_axes",
]

# As a value: do not set the option.
DEFAULT = "default"
# Each takes 10 KB and some milliseconds: in total a gigabyte, and minutes to hours.
MOST_COMBINATIONS = 100_000
_SIZES_SHOWN = 10  # axes, in a message


@dataclass(frozen=True)
class Axis:
    """One option and the values to try, as command-line text."""

    name: str
    values: tuple[str, ...]


def parse_axes(settings: Sequence[str]) -> list[Axis]:
    """Make axes from texts such as "unroll-count=1,2,default". A leading "-" of a name is removed.

    Raises OptctxError for text without a name or "=", for an empty value among several, and for an option
    that is given twice. LLVM checks later that the option exists and accepts the values.
    """
    axes: dict[str, Axis] = {}
    for axis in map(_parse_axis, settings):
        if axes.setdefault(axis.name, axis) is not axis:
            raise OptctxError(f"option {shown(axis.name)} is set twice; write all its values in one --set")
    return list(axes.values())


def _parse_axis(setting: str) -> Axis:
    name, separator, text = setting.partition("=")
    name = name.strip().lstrip("-")
    if not separator or not name:
        raise OptctxError(
            f"expected NAME=VALUE[,VALUE...], such as unroll-count=1,2,4, found {shown(setting)}"
        )
    values = tuple(dict.fromkeys(value.strip() for value in text.split(",")))
    if len(values) > 1 and "" in values:
        raise OptctxError(f"empty value in {shown(setting)}; take out the extra comma")
    return Axis(name, values)


def count_combinations(axes: Sequence[Axis], limit: int, *, files: int = 1) -> int:
    """Count the combinations that the axes span for one file.

    Raises OptctxError if the number for all `files` is above `limit`.
    """
    combinations = math.prod(len(axis.values) for axis in axes)
    count = combinations * files
    if count > limit:
        sizes = " x ".join(str(len(axis.values)) for axis in axes[:_SIZES_SHOWN])
        more = " x ..." if len(axes) > _SIZES_SHOWN else ""
        more += f" for {files} files" if files > 1 else ""
        raise OptctxError(
            f"cannot compile {_number(count)} combinations ({sizes}{more}), the limit is {_number(limit)}; "
            "give fewer values, or raise it with --max-combinations (max_combinations=)"
        )
    return combinations


def combinations(axes: Sequence[Axis], *, limit: int = MOST_COMBINATIONS) -> list[dict[str, str]]:
    """Every choice of one value per axis. The last axis changes fastest. No axes give one empty choice.

    Raises OptctxError, before making any, for more than `limit`.
    """
    count_combinations(axes, limit)
    names = [axis.name for axis in axes]
    return [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(axis.values for axis in axes))
    ]


def _number(count: int) -> str:
    """The number in full, or as a power of ten if it is long: Python refuses to print thousands of digits."""
    return f"{count:,}" if count < 10**15 else f"more than 10^{int((count.bit_length() - 1) * math.log10(2))}"


def overrides(combination: Mapping[str, str]) -> dict[str, str]:
    """The options that a combination sets: all but those left at `DEFAULT`."""
    return {name: value for name, value in combination.items() if value != DEFAULT}


def combination_at(axes: Sequence[Axis], index: int) -> dict[str, str]:
    """Return the combination at a place of `combinations(axes)`, without the others."""
    chosen = []
    for axis in reversed(axes):
        index, place = divmod(index, len(axis.values))
        chosen.append((axis.name, axis.values[place]))
    return dict(reversed(chosen))
