"""Spaces of option values, and the values that all trials have, without compilations."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optctx.errors import OptctxError
from optctx.lab.space import (
    Choices,
    Dimension,
    Floats,
    Integers,
    Space,
    Value,
    Values,
    parse_condition,
    parse_space,
    parse_values,
)
from tests.support.garbage import left_behind, no_collector
from tests.support.rows import rows


@rows(
    ("text", "values"),
    [
        ("1..64", Integers(1, 64)),
        ("-3..5", Integers(-3, 5)),
        ("1..1024:log", Integers(1, 1024, log=True)),
        ("0..1000:step=250", Integers(0, 1000, 250)),
        ("0.5..2.5:step=0.5", Floats(0.5, 2.5, 0.5)),
        ("1e-3..1:log", Floats(0.001, 1.0, log=True)),
        ("a,b,c", Choices(("a", "b", "c"))),
        ("", Choices(("",))),
    ],
)
def test_values_are_read_and_written(text: str, values: Values) -> None:
    assert parse_values(text, text) == values
    assert parse_values(str(values), text) == values


@rows(
    ("text", "expected"),
    [
        ("unroll-count=1..x", "expected a number after '..'"),
        ("unroll-count=9..1", "write 1..9"),
        ("unroll-count=0..8:log", "begin at 1"),
        ("unroll-count=1..8:log:step=2", "not both"),
        ("unroll-count=1..8:step=0", "a step above 0"),
        ("unroll-count=1..99999999999999999999", "list the values"),
        ("unroll-count=1..8 if", "expected a number after '..', found '8 if'"),
        ("unroll-count=1..8 if x", "expected a condition such as"),
        ("unroll-count=1..8 if x<true", "expected a number after '<'"),
        ("unroll-count=1..8 if x==true", "asks for 'x', which has no values of its own"),
        ("unroll-count=1..8 if unroll-count==1", "asks for itself"),
        ("passes=default<O1>", "with a --passes of its own"),
        ("unroll-count=0.5..2", "whole numbers"),
        ("enable-gvn-hoist=0..1", "enable-gvn-hoist=true,false"),
        ("version=true,false", "cannot"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(text: str, expected: str) -> None:
    with pytest.raises(OptctxError, match=expected):
        parse_space([text])


def test_a_refusal_leaves_nothing_for_the_collector() -> None:
    with no_collector():
        with pytest.raises(OptctxError):
            parse_space(["unroll-count=x"])
        assert not any(isinstance(each, BaseException) for each in left_behind())


def test_an_option_under_two_names_is_refused() -> None:
    with pytest.raises(OptctxError, match="are the same option"):
        parse_space(["aarch64-stack-hazard-size=1,2", "aarch64-streaming-hazard-size=4"])


def test_conditions_order_the_dimensions() -> None:
    space = parse_space(
        [
            "unroll-count=1..8 if force-vector-width>1 and enable-gvn-hoist==true",
            "force-vector-width=1,2,4 if enable-gvn-hoist!=false",
            "enable-gvn-hoist=true,false",
        ]
    )
    assert space.names == ["enable-gvn-hoist", "force-vector-width", "unroll-count"]
    points = space.points()
    assert len(points) == 1 + 1 + 2 * 8
    assert all(space.holds(point) for point in points)
    assert not space.holds({"enable-gvn-hoist": "false", "unroll-count": 2})
    assert parse_space(space.texts()) == space


@given(st.integers(-5, 20), st.integers(-5, 20), st.sampled_from(["==", "!=", "<", "<=", ">", ">="]))
def test_conditions_compare_as_python_does(one: int, other: int, sign: str) -> None:
    condition = parse_condition(f"a {sign} {other}", "")
    assert condition.holds({"a": str(one)}) == eval(f"{one} {sign} {other}")
    assert not condition.holds({})


def spaces() -> st.SearchStrategy[Space]:
    values = st.one_of(
        st.builds(lambda low, more, step: Integers(low, low + more, step), *[st.integers(1, 9)] * 3),
        st.builds(lambda low, more: Integers(low, low + more, log=True), *[st.integers(1, 9)] * 2),
        st.builds(lambda low, more: Floats(low / 10, (low + more) / 10, 0.1), *[st.integers(1, 9)] * 2),
        st.lists(st.sampled_from("abcdef"), min_size=1, max_size=4, unique=True).map(
            lambda texts: Choices(tuple(texts))
        ),
    )
    return st.lists(values, min_size=1, max_size=3).map(
        lambda each: Space(tuple(Dimension(f"o{place}", value) for place, value in enumerate(each)))
    )


@given(spaces(), st.integers(0, 1000))
def test_a_point_by_chance_is_of_the_space(space: Space, seed: int) -> None:
    point = space.pick(random.Random(seed))
    assert space.holds(point)
    assert point in space.points()
    assert len(space.points()) == space.count


def test_a_space_of_any_size_is_counted() -> None:
    many: list[Values] = [Integers(1, 1 << 53)] * 20
    for last, count in ((Floats(0.0, 1.0), math.inf), (Floats(0.0, 1.0, 1e-300), 10**300 + 1 << 53 * 20)):
        space = Space(tuple(Dimension(str(place), each) for place, each in enumerate((*many, last))))
        assert space.count == count


def test_a_grid_lists_points_in_order_and_no_more_than_are_asked_for() -> None:
    # A name alone is a flag, and a dash is as good as none.
    space = parse_space(["unroll-count=1..3", "-enable-gvn-hoist if unroll-count>1"])
    first = {"unroll-count": 1}
    assert space.points(100)[:2] == [first, {"unroll-count": 2, "enable-gvn-hoist": "false"}]
    assert len(space.points(100)) == 5
    many = Integers(1, 1 << 50)
    assert Space((Dimension("a", many), Dimension("b", many))).points(1) == [{"a": 1, "b": 1}]
    only = parse_condition("a==x", "")
    space = Space(
        (Dimension("a", Choices(("y", "x"))), *(Dimension(name, many, only) for name in ("b", "c", "d")))
    )
    assert space.points(2) == [{"a": "y"}, {"a": "x", "b": 1, "c": 1, "d": 1}]
    space = Space((Dimension("a", many), Dimension("b", Floats(0.0, 1.0), parse_condition("a>2", ""))))
    with pytest.raises(OptctxError, match="give it a step"):
        space.points(2)


def test_the_first_points_of_many_dimensions_take_few_others(monkeypatch: pytest.MonkeyPatch) -> None:
    made = 0

    def each(values: Choices) -> Iterator[Value]:
        nonlocal made
        made += 1
        return iter(values.texts)

    monkeypatch.setattr(Choices, "each", each)
    flags = tuple(Dimension(str(place), Choices(("false", "true"))) for place in range(200))
    points = Space(flags).points(1000)
    binary = [f"{number:0200b}" for number in range(1000)]
    expected = [["true" if digit == "1" else "false" for digit in each] for each in binary]
    assert [list(point.values()) for point in points] == expected
    assert made < 200 + 200 + 1000  # a dimension that is looked at, one that is continued, and the last ones
