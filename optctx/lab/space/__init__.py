"""The option values that an experiment tries: one grammar for every command and for Python."""

from optctx.lab.space.space import (
    DEFAULT,
    PASSES,
    Dimension,
    Point,
    Space,
    distribution,
    overrides_of,
    parse_dimension,
    parse_space,
    text_of,
)
from optctx.lab.space.values import Choices, Floats, Integers, Value, Values, number_of, parse_values

__all__ = [
    "DEFAULT",
    "PASSES",
    "Choices",
    "Dimension",
    "Floats",
    "Integers",
    "Point",
    "Space",
    "Value",
    "Values",
    "distribution",
    "number_of",
    "overrides_of",
    "parse_dimension",
    "parse_space",
    "parse_values",
    "text_of",
]
