"""Spaces of option values and pass pipelines."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from optctx import OptionContext, registry
from optctx.errors import OptctxError, shown
from optctx.lab.space.values import Choices, Floats, Integers, Value, Values, parse_values

# As a value: leave the option alone.
DEFAULT = "default"
# The dimension whose values are pipelines: LLVM has no option of this name.
PASSES = "passes"
# What a search may try: dimension -> text of its value.
Point = Mapping[str, str]

_FLAG = Choices(("false", "true"))  # the values of a name alone
_MOST_REFUSED = 20  # settings in a message
_WHOLE = ("int", "uint", "int64", "uint64")
_NUMBERS = (*_WHOLE, "float", "double")


@dataclass(frozen=True)
class Dimension:
    """One option, or the pipeline, and the values to try."""

    name: str
    values: Values

    def __str__(self) -> str:
        return f"{self.name}={self.values}"


@dataclass(frozen=True)
class Space:
    """Dimensions in their order. Make one with `parse_space` or `Space.of`. Plain data."""

    dimensions: tuple[Dimension, ...]

    @classmethod
    def of(cls, dimensions: Sequence[Dimension]) -> Space:
        """Check the dimensions against LLVM's options.

        Raises OptctxError for a name that stands twice, a range for an option that is no number, and as
        OptionContext does for options and values.
        """
        names = [each.name for each in dimensions]
        for name in names:
            if names.count(name) > 1:
                raise OptctxError(f"option {shown(name)} is set twice; write all its values in one --try")
        space = cls(tuple(dimensions))
        space.check()
        return space

    @property
    def pipelines(self) -> tuple[str, ...]:
        """The values of the dimension `passes`; none if there is no such dimension."""
        return next((each.values.ends for each in self.dimensions if each.name == PASSES), ())

    @property
    def count(self) -> float:
        """How many points there are."""
        counts = [each.values.count for each in self.dimensions]
        return math.inf if math.inf in counts else math.prod(counts)

    @property
    def names(self) -> list[str]:
        return [each.name for each in self.dimensions]

    def check(self) -> None:
        """Raise OptctxError for dimensions that LLVM's options do not allow: one that names all bad ones."""
        options = [each for each in self.dimensions if each.name != PASSES]
        refused = _refused(options)
        if len(refused) > 1:
            more = " or more" if len(refused) == _MOST_REFUSED else ""
            raise OptctxError(f"{len(refused)} settings{more} are refused: " + "; ".join(refused))
        if refused:
            raise refused.popitem()[1]  # it leads to this frame, which must not lead to it
        targets: dict[str, str] = {}
        for each in options:
            target = registry()[each.name].alias_of or each.name
            if targets.setdefault(target, each.name) != each.name:
                raise OptctxError(
                    f"{targets[target]!r} and {each.name!r} are the same option; take one of them out"
                )

    def points(self, most: int | None = None) -> list[dict[str, Value]]:
        """Every point, or the first `most`; the last dimension changes fastest.

        Raises OptctxError for a dimension without end.
        """
        for each in self.dimensions:
            each.values.each()  # raises for one without end, also where no point of these reaches it
        # Points of the dimensions up to each, from which `most` of all come; the last dimension's first.
        enough = [sys.maxsize if most is None else most]
        for each in reversed(self.dimensions[1:]):
            enough.append(-(-enough[-1] // int(each.values.count)))
        points: list[dict[str, Value]] = [{}]
        for each in self.dimensions:
            longer = ({**point, each.name: value} for point in points for value in each.values.each())
            points = list(itertools.islice(longer, enough.pop()))
        return points

    def texts(self) -> list[str]:
        """As `parse_space` reads them, but for pipelines."""
        return [str(each) for each in self.dimensions]


def text_of(value: object) -> str:
    """A value as a command line has it."""
    return repr(value) if isinstance(value, float) else str(value)


def overrides_of(point: Point) -> dict[str, str]:
    """What a point sets: all but the pipeline, and the options that it leaves alone."""
    return {name: text for name, text in point.items() if name != PASSES and text != DEFAULT}


def parse_dimension(setting: str) -> Dimension:
    """From "unroll-count=1..16", or the name of a flag. Raises OptctxError."""
    name, equals, text = setting.partition("=")
    name = name.strip().lstrip("-")
    if not name or not (equals or _is_flag(name)):
        raise OptctxError(
            f"expected NAME=VALUES, such as unroll-count=1..16 or unroll-count=1,2,4, found {shown(setting)}"
        )
    if name == PASSES:
        raise OptctxError(f"{PASSES!r} is no option; write each pipeline with a --passes of its own")
    values = parse_values(text.strip(), setting) if equals else _FLAG
    return Dimension(name, values)


def _is_flag(name: str) -> bool:
    """Whether there is no need to say the values. Raises UnknownOptionError."""
    return registry()[name].type in ("bool", "boolOrDefault")


def parse_space(settings: Sequence[str], pipelines: Sequence[str] = ()) -> Space:
    """A space from texts such as "unroll-count=1..16", and pipelines if there are several.

    Raises OptctxError for a text that cannot be read, and as `Space.of` does.
    """
    if isinstance(settings, str):
        raise OptctxError(f"expected a list of texts, such as [{settings!r}], found one text")
    dimensions = [parse_dimension(setting) for setting in settings]
    if len(pipelines) > 1:
        dimensions.insert(0, Dimension(PASSES, Choices(tuple(dict.fromkeys(pipelines)))))
    return Space.of(dimensions)


def _check_type(dimension: Dimension, kind: str) -> None:
    """Raises OptctxError for a range where LLVM expects no number, or a whole one."""
    values = dimension.values
    if isinstance(values, Choices) or kind in (_NUMBERS if isinstance(values, Integers) else _NUMBERS[4:]):
        return
    if isinstance(values, Floats) and kind in _WHOLE:
        raise OptctxError(
            f"cannot try {values} for {dimension.name!r}: it takes whole numbers ({kind}); write the ends so"
        )
    choices = ",".join(registry()[dimension.name].choices) or "true,false"
    raise OptctxError(
        f"cannot try the range {values} for {dimension.name!r}: it is of type {kind}; list its values, "
        "such as "
        f"{dimension.name}={choices}"
    )


def _refused(dimensions: Iterable[Dimension]) -> dict[str, OptctxError]:
    """What LLVM does not take of the values of options, by the message: so many at most."""
    refused: dict[str, OptctxError] = {}
    for refusal in itertools.chain.from_iterable(map(_refusals, dimensions)):
        refused.setdefault(str(refusal), refusal)
        if len(refused) == _MOST_REFUSED:  # looking for similar names takes time
            break
    return refused


def _refusals(dimension: Dimension) -> Iterator[OptctxError]:
    """What LLVM does not take of an option's values."""
    try:
        _check_type(dimension, registry()[dimension.name].type)
    except OptctxError as error:
        yield error
        return
    for text in dimension.values.ends:
        try:
            OptionContext(overrides_of({dimension.name: text}))
        except OptctxError as error:
            yield error


def distribution(values: Values) -> tuple[str, dict[str, Any]]:
    """Return what Optuna calls these values, and the arguments that describe them."""
    if isinstance(values, Choices):
        return "Categorical", {"choices": values.texts}
    if isinstance(values, Integers):
        high = values.at(int(values.count) - 1)
        return "Int", {"low": values.low, "high": high, "step": values.step, "log": values.log}
    return "Float", {"low": values.low, "high": values.high, "step": None, "log": values.log}
