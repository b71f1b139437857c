"""From `--set` arguments to the combinations of option values that they span."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optctx.errors import OptctxError

__all__ = ["DEFAULT", "Axis", "combinations", "overrides", "parse_axes"]

# As a value: leave the option alone.
DEFAULT = "default"


@dataclass(frozen=True)
class Axis:
    """One option and the values to try, as command-line text."""

    name: str
    values: tuple[str, ...]


def parse_axes(settings: Sequence[str]) -> list[Axis]:
    """Axes from texts such as "unroll-count=1,2,default"; a leading "-" of a name is taken off.

    Raises OptctxError for text without a name or "=", for an empty value among several, and for an option
    that is given twice. Whether the option exists, and what it takes, is LLVM's to say, later.
    """
    axes = [_parse_axis(setting) for setting in settings]
    for number, axis in enumerate(axes):
        if any(axis.name == earlier.name for earlier in axes[:number]):
            raise OptctxError(f"option {axis.name!r} is set twice; write all its values in one --set")
    return axes


def _parse_axis(setting: str) -> Axis:
    name, separator, text = setting.partition("=")
    name = name.strip().lstrip("-")
    if not separator or not name:
        raise OptctxError(f"expected NAME=VALUE[,VALUE...], such as unroll-count=1,2,4, found {setting!r}")
    values = tuple(dict.fromkeys(value.strip() for value in text.split(",")))
    if len(values) > 1 and "" in values:
        raise OptctxError(f"empty value in {setting!r}; take out the extra comma")
    return Axis(name, values)


def combinations(axes: Sequence[Axis]) -> list[dict[str, str]]:
    """Every choice of one value per axis, the last axis changing fastest; one empty choice for no axes."""
    names = [axis.name for axis in axes]
    return [
        dict(zip(names, values, strict=True)) for values in itertools.product(*(axis.values for axis in axes))
    ]


def overrides(combination: Mapping[str, str]) -> dict[str, str]:
    """What a combination sets: all but the options left at `DEFAULT`."""
    return {name: value for name, value in combination.items() if value != DEFAULT}
