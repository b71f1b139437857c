"""The option values that an experiment tries: one grammar for every command and for Python."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optctx import OptionContext, registry
from optctx.compiling import Image
from optctx.errors import OptctxError, shown

# What a search may try: dimension -> text of its value.
Point = Mapping[str, str]

# As a value: leave the option alone.
DEFAULT = "default"

_LARGEST = 1 << 53  # Optuna keeps whole numbers as floats
_NUMBERS = ("int", "uint", "int64", "uint64", "float", "double")
_IS_RANGE = re.compile(r"-?[\d.]*\d *\.\.")
_RANGE = re.compile(r"(?P<low>-?\d+) *\.\. *(?P<high>-?\d+)(?P<log>:log|:step=(?P<step>\d+))?")


@dataclass(frozen=True)
class Integers:
    """Whole numbers from `low` to `high`, both included. `log`: small ones are as interesting as large
    ones.
    """

    low: int
    high: int
    step: int = 1
    log: bool = False

    @property
    def each(self) -> range:
        """Every value; the last one may be below `high`."""
        return range(self.low, self.high + 1, self.step)

    def __str__(self) -> str:
        step = f":step={self.step}" if self.step != 1 else ""
        return f"{self.low}..{self.high}{':log' if self.log else ''}{step}"


@dataclass(frozen=True)
class Choices:
    """Texts, as on a command line. "default" leaves the option alone."""

    each: tuple[str, ...]

    def __str__(self) -> str:
        return ",".join(self.each)


Values = Integers | Choices
_FLAG = Choices(("false", "true"))  # the values of a name alone


@dataclass(frozen=True)
class Dimension:
    """One option, and the values to try."""

    name: str
    values: Values

    def __str__(self) -> str:
        return f"{self.name}={self.values}"


@dataclass(frozen=True)
class Space:
    """Dimensions in their order. Make one with `parse_space` or `Space.of`. Plain data."""

    dimensions: tuple[Dimension, ...]

    @classmethod
    def of(cls, dimensions: Sequence[Dimension], image: Image | None = None) -> Space:
        """Check the dimensions against the options of an LLVM, by default llvmlite's.

        Raises OptctxError for an option that stands twice, a range for an option that is no number, and as
        OptionContext does for options and values.
        """
        targets: dict[str, str] = {}
        for each in dimensions:
            _check(each, image)
            target = registry(image)[each.name].alias_of or each.name
            if target in targets:
                both = f"{shown(targets[target])} and {shown(each.name)}"
                raise OptctxError(f"{both} are the same option; write all its values in one --try")
            targets[target] = each.name
        return cls(tuple(dimensions))

    @property
    def count(self) -> int:
        """How many points there are."""
        return math.prod(len(each.values.each) for each in self.dimensions)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.dimensions]

    def points(self) -> list[dict[str, str]]:
        """Every point; the last dimension changes fastest."""
        values = itertools.product(*(map(str, each.values.each) for each in self.dimensions))
        return [dict(zip(self.names, each, strict=True)) for each in values]

    def texts(self) -> list[str]:
        """As `parse_space` reads them."""
        return [str(each) for each in self.dimensions]


def overrides_of(point: Point) -> dict[str, str]:
    """What a point sets: all but the options that it leaves alone."""
    return {name: text for name, text in point.items() if text != DEFAULT}


def parse_space(settings: Sequence[str], image: Image | None = None) -> Space:
    """A space from texts such as "unroll-count=1..16".

    `image`: of which LLVM. Raises OptctxError for a text that cannot be read, and as `Space.of` does.
    """
    return Space.of([parse_dimension(setting, image) for setting in settings], image)


def parse_dimension(setting: str, image: Image | None = None) -> Dimension:
    """From "unroll-count=1..16", "1..1024:log", "0..64:step=8" or "a,b,c", or the name of a flag.

    Raises OptctxError.
    """
    name, equals, text = setting.partition("=")
    name = name.strip().lstrip("-")
    if not name or not (equals or registry(image)[name].type in ("bool", "boolOrDefault")):
        raise OptctxError(
            f"expected NAME=VALUES, such as unroll-count=1..16 or unroll-count=1,2,4, found {shown(setting)}"
        )
    return Dimension(name, _values(text.strip(), setting) if equals else _FLAG)


def _values(text: str, setting: str) -> Values:
    """`setting`: what is being read, for errors."""
    if not _IS_RANGE.match(text):
        texts = tuple(dict.fromkeys(each.strip() for each in text.split(",")))
        if len(texts) > 1 and "" in texts:
            raise OptctxError(f"empty value in {shown(setting)}; take out the extra comma")
        return Choices(texts)

    def refuse(why: str) -> OptctxError:
        return OptctxError(f"cannot read {shown(setting)}: {why}")

    found = _RANGE.fullmatch(text)
    if found is None:
        raise refuse(
            "expected a range of whole numbers, such as 1..16, 1..1024:log or 0..64:step=8; list other values"
        )
    low, high, step = int(found["low"]), int(found["high"]), int(found["step"] or 1)
    log = found["log"] == ":log"
    if low > high:
        raise refuse(f"{low} is more than {high}; write {high}..{low}")
    if log and low <= 0:
        raise refuse(f"a logarithmic range begins above 0, found {low}; begin at 1")
    if not step:
        raise refuse("expected a step above 0, found 0")
    if max(abs(low), abs(high)) > _LARGEST:
        raise refuse(f"the ends of a range are at most {_LARGEST:,}; list the values instead")
    return Integers(low, high, step, log)


def _check(dimension: Dimension, image: Image | None) -> None:
    """Raise OptctxError for what LLVM does not take of an option's values."""
    option = registry(image)[dimension.name]
    if isinstance(dimension.values, Integers) and option.type not in _NUMBERS:
        choices = ",".join(option.choices) or "true,false"
        raise OptctxError(
            f"cannot try the range {dimension.values} for {option.name!r}: it is of type {option.type}; "
            f"list its values, such as {option.name}={choices}"
        )
    values = dimension.values.each
    for value in {values[0], values[-1]} if isinstance(values, range) else values:
        OptionContext(overrides_of({dimension.name: str(value)}), image=image)
