"""Properties of contexts over the whole registry, values drawn by type."""

from __future__ import annotations

import pickle

from hypothesis import given
from hypothesis import strategies as st

from optctx import Option, OptionContext, registry
from optctx.testing.strategies import is_literal, own_name
from tests.support.examples import examples
from tests.support.option_values import one


@examples(200)
@given(st.deferred(one))
def test_a_value_of_an_options_own_type_comes_back(drawn: tuple[Option, object]) -> None:
    option, value = drawn
    context = OptionContext({option.name: value}, base="defaults")
    if (
        option.type == "enum" and context[option.name] != value
    ):  # two names for one value, such as on and preferred
        assert OptionContext({option.name: context[option.name]}, base="defaults") == context
        value = context[option.name]
    assert context[option.name] == value
    assert type(context[option.name]) is type(value)
    assert list(context.overrides.values()) == [value]
    others = set(OptionContext(base="defaults").diff(context))
    # Given or not is a difference too, if the value is the default; an empty list is not given at all.
    assert others == ({own_name(option)} if context != OptionContext(base="defaults") else set())


@examples(60)
@given(st.lists(st.deferred(one), max_size=6))
def test_contexts_with_the_same_values_are_the_same_however_they_were_made(
    drawn: list[tuple[Option, object]],
) -> None:
    overrides = {own_name(option): (option.name, value) for option, value in drawn}
    given_as = dict(overrides.values())
    context = OptionContext(given_as, base="defaults")
    same = [
        OptionContext(dict(reversed(given_as.items())), base="defaults"),
        pickle.loads(pickle.dumps(context)),
        OptionContext(base="defaults").derive(given_as),
        OptionContext({}, base=context),
    ]
    if all(value != [] for value in given_as.values()):  # which a command line cannot say
        same.append(OptionContext.from_args(context.args(), base="defaults"))
    for other in same:
        assert other == context
        assert hash(other) == hash(context)
        assert other.diff(context) == {}
        # One of two names for one value may come back, as above.
        assert all(other[name] == context[name] for name in given_as)
    assert same[1].overrides == context.overrides
    assert same[1].args() == context.args()


def test_every_option_that_can_be_set_takes_its_own_default() -> None:
    for option in registry().values():
        value = option.default
        if option.scope == "process" or value is None or (option.type == "enum" and is_literal(option)):
            continue
        assert OptionContext({option.name: value}, base="defaults")[option.name] == value, option.name
