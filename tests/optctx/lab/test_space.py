"""Spaces of option values, and the values that all trials have, without compilations."""

from __future__ import annotations

import pytest

from optctx.errors import OptctxError
from optctx.lab.space import (
    Choices,
    Dimension,
    Integers,
    Space,
    Values,
    parse_dimension,
    parse_space,
)
from tests.support.rows import rows


@rows(
    ("text", "values"),
    [
        ("-3..5", Integers(-3, 5)),
        ("1..1024:log", Integers(1, 1024, log=True)),
        ("0..1000:step=250", Integers(0, 1000, 250)),
        ("a,b,c", Choices(("a", "b", "c"))),
        ("", Choices(("",))),
    ],
)
def test_values_are_read_and_written(text: str, values: Values) -> None:
    assert parse_dimension(f"o={text}") == Dimension("o", values)
    assert parse_dimension(f"o={values}") == Dimension("o", values)


@rows(
    ("text", "expected"),
    [
        ("unroll-count=1..x", "expected a range of whole numbers, such as 1..16"),
        ("memprof-cloning-cold-threshold=0.5..2.5", "list other values"),
        ("unroll-count=9..1", "write 1..9"),
        ("unroll-count=0..8:log", "begin at 1"),
        ("unroll-count=1..8:step=0", "a step above 0"),
        ("unroll-count=1..99999999999999999999", "list the values"),
        ("unroll-count=1..99999999999", "99999999999"),
        ("enable-gvn-hoist=0..1", "enable-gvn-hoist=true,false"),
        ("version=true,false", "cannot"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(text: str, expected: str) -> None:
    with pytest.raises(OptctxError, match=expected):
        parse_space([text])


def test_an_option_under_two_names_is_refused() -> None:
    with pytest.raises(OptctxError, match="are the same option"):
        parse_space(["aarch64-stack-hazard-size=1,2", "aarch64-streaming-hazard-size=4"])


def test_a_space_of_any_size_is_counted() -> None:
    many: list[Values] = [Integers(1, 1 << 53)] * 20
    space = Space(tuple(Dimension(str(place), each) for place, each in enumerate((*many, Integers(1, 3)))))
    assert space.count == 3 << 53 * 20


def test_a_grid_lists_points_in_order() -> None:
    # A name alone is a flag, and a dash is as good as none.
    space = parse_space(["unroll-count=1..6:step=2", "-enable-gvn-hoist"])
    assert [tuple(point.values()) for point in space.points()] == [
        *[("1", "false"), ("1", "true"), ("3", "false"), ("3", "true"), ("5", "false"), ("5", "true")]
    ]
    assert len(space.points()) == space.count
    assert parse_space(space.texts()) == space
