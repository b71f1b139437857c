"""Spaces, samplers and the order of trials, without compilations."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optctx.errors import OptctxError
from optctx.lab.tuning import Choices, Dimension, Floats, Goal, Integers, Space, Trial, parse_space
from optctx.lab.tuning.conditions import parse_condition
from optctx.lab.tuning.samplers import SAMPLERS, learns
from optctx.lab.tuning.search import Search, go_on
from optctx.lab.tuning.space import parse_dimension
from optctx.lab.tuning.values import Values, parse_values

SIZE = [Goal("size", "bytes")]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1..64", Integers(1, 64)),
        ("-3..5", Integers(-3, 5)),
        ("1..1024:log", Integers(1, 1024, log=True)),
        ("0..1000:step=250", Integers(0, 1000, 250)),
        ("0.5..2", Floats(0.5, 2.0)),
        ("0.5..2.5:step=0.5", Floats(0.5, 2.5, 0.5)),
        ("1e-3..1:log", Floats(0.001, 1.0, log=True)),
        ("a,b,c", Choices(("a", "b", "c"))),
        ("default,4", Choices(("default", "4"))),
        ("../x,../y", Choices(("../x", "../y"))),
        ("", Choices(("",))),
    ],
)
def test_values_are_read_and_written(text: str, values: Values) -> None:
    assert parse_values(text, text) == values
    assert parse_values(str(values), text) == values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unroll-count", "expected NAME=VALUES"),
        ("unroll-count=1,,2", "take out the extra comma"),
        ("unroll-count=1..x", "expected a number after '..'"),
        ("unroll-count=9..1", "write 1..9"),
        ("unroll-count=0..8:log", "begin at 1"),
        ("unroll-count=1..8:log:step=2", "not both"),
        ("unroll-count=1..8:step=0", "a step above 0"),
        ("unroll-count=1..8:lg", "expected ':log' or ':step=NUMBER'"),
        ("unroll-count=1..99999999999999999999", "list the values"),
        ("unroll-count=1..8 if", "expected a number after '..', found '8 if'"),
        ("unroll-count=1..8 if x", "expected a condition such as"),
        ("unroll-count=1..8 if x<true", "expected a number after '<'"),
        ("unroll-count=1..8 if x==true", "asks for 'x', which has no values of its own"),
        ("unroll-count=1..8 if unroll-count==1", "asks for itself"),
        ("passes=default<O1>", "with a --passes of its own"),
        ("unroll-count=x,y", "'x' value invalid for uint argument"),
        ("unroll-count=0.5..2", "whole numbers"),
        ("enable-gvn-hoist=0..1", "enable-gvn-hoist=true,false"),
        ("version=true,false", "cannot"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused(text: str, expected: str) -> None:
    with pytest.raises(OptctxError, match=expected):
        parse_space([text])


def test_an_option_under_two_names_is_refused() -> None:
    with pytest.raises(OptctxError, match="is set twice"):
        parse_space(["unroll-count=1,2", "-unroll-count=4"])
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
    points = list(space.points())
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
        st.builds(lambda low, more: Floats(low / 4, (low + more) / 4, 0.25), *[st.integers(1, 9)] * 2),
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
    assert point in list(space.points())
    assert len(list(space.points())) == space.count


def searched(
    space: Space,
    sampler: str,
    seed: int,
    window: int,
    trials: int,
    order: int = 0,
    done: Sequence[Trial] = (),
) -> list[Trial]:
    """Trials with a figure each, which come in an order of chance; those that are done are not run again."""

    def make() -> Search:
        return Search(space, SIZE, sampler=sampler, seed=seed, window=window)

    values = {each.name: each.values for each in space.dimensions}
    search = go_on(
        make,
        {
            trial.number: (
                trial,
                {n: t if isinstance(values[n], Choices) else int(t) for n, t in trial.options.items()},
            )
            for trial in done
        },
    )
    dice = random.Random(order)
    found: list[Trial] = list(done)
    running = search.running
    while True:
        while len(found) + len(running) < trials and len(running) < window and search.ready:
            asked = search.ask()
            if asked is None:
                trials = 0
                break
            running.append(asked)
        if not running:
            return sorted(found, key=lambda trial: trial.number)
        candidate = running.pop(dice.randrange(len(running)))
        figure = sum(len(text) + text.count("1") for _, text in candidate.point)
        state = "crashed" if figure % 5 == 4 else "ok"
        trial = Trial(
            candidate.number,
            dict(candidate.point),
            "",
            state,  # type: ignore[arg-type]
            {"size": figure} if state == "ok" else {},
        )
        found.append(trial)
        search.result(trial)


WIDE = Space(
    (Dimension("a", Integers(1, 500)), Dimension("b", Integers(0, 64)), Dimension("c", Choices(("x", "y"))))
)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_trials_do_not_depend_on_the_order_of_answers(sampler: str) -> None:
    one, two, other = (
        searched(WIDE, sampler, seed, 4, 60, order) for seed, order in ((3, 0), (3, 1), (4, 0))
    )
    assert one == two != other
    assert len({tuple(trial.options.items()) for trial in one}) == 60
    assert [trial.number for trial in one] == list(range(60))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_search_goes_on_from_any_trials(sampler: str) -> None:
    whole = searched(WIDE, sampler, 3, 4, 60)
    # Numbers 20 and 22 were running when it was killed.
    done = [trial for trial in whole if trial.number < 24 and trial.number not in (20, 22)]
    assert searched(WIDE, sampler, 3, 4, 60, 7, done) == whole


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_points_depend_on_figures_where_the_sampler_learns(sampler: str) -> None:
    few, many = (searched(WIDE, sampler, 3, window, 60) for window in (4, 1000))
    assert (few != many) == learns(sampler)


def test_a_search_that_learns_nothing_goes_on_from_any_trials_of_a_larger_cluster() -> None:
    whole = searched(WIDE, "random", 3, 1000, 60)
    done = [trial for trial in whole if trial.number % 40 > 25]
    assert searched(WIDE, "random", 3, 1000, 60, 7, done) == whole


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_small_space_is_tried_to_the_last_point(sampler: str) -> None:
    space = Space((Dimension("a", Integers(1, 6)), Dimension("b", Choices(("x", "y", "z")))))
    trials = searched(space, sampler, 0, 4, 1000)
    points = {(("a", str(point["a"])), ("b", str(point["b"]))) for point in space.points()}
    assert {tuple(trial.options.items()) for trial in trials} == points
    assert len(trials) == 18


def test_dimensions_are_read_with_a_dash() -> None:
    assert parse_dimension("-unroll-count=1..4").name == "unroll-count"
