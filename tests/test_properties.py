"""Properties of contexts over the whole registry, values drawn by type."""

from __future__ import annotations

import pickle
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from optctx import Option, OptionContext, registry

# Text that LLVM takes for the types that have parsers of their own.
OTHER = {
    "pass-remarks": ["", "a.*", "inline|loop-vectorize"],
    "pass-remarks-analysis": ["", "[a-z]+"],
    "pass-remarks-missed": ["", "licm"],
    "sve-tail-folding": ["all", "simple", "disabled", "default+reductions", "all+noreverse"],
    "x86-align-branch": ["", "jcc", "jcc+fused+jmp", "call+ret+indirect"],
}
ELEMENTS = {
    "print-after-pass-number": st.integers(0, 2**32 - 1),
    "print-before-pass-number": st.integers(0, 2**32 - 1),
    "thinlto-move-symbols": st.integers(0, 2**64 - 1),
}
# No comma: on a command line it separates the elements of most lists.
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0,"), max_size=20)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
BY_TYPE = {
    "bool": st.booleans(),
    "boolOrDefault": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "uint": st.integers(0, 2**32 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "uint64": st.integers(0, 2**64 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "double": st.floats(allow_nan=False),
    "string": TEXT,
}


@cache
def settable() -> list[Option]:
    return [option for option in registry().values() if option.scope != "process"]


def literal(option: Option) -> bool:
    """Whether the choices of an enum are options themselves, which take no value."""
    return option.name in option.choices


def value_of(option: Option) -> st.SearchStrategy[object]:
    """What the option may be set to, and what a lookup then gives."""
    choices = list(option.choices)
    if option.type == "enum":
        return st.just(option.name) if literal(option) else st.sampled_from(choices)
    if option.type in ("bits", "set"):
        return st.sets(st.sampled_from(choices)).map(lambda drawn: sorted(drawn, key=choices.index))
    if option.type == "list":
        element = st.sampled_from(choices) if choices else ELEMENTS.get(option.name, WORDS)
        return st.lists(element, max_size=4)
    if option.type == "other":
        return st.sampled_from(OTHER[option.name])
    if option.name.endswith("-new-hint-value"):  # a parser of its own
        return st.integers(0, 255)
    return BY_TYPE[option.type]


def one() -> st.SearchStrategy[tuple[Option, object]]:
    """An option with a value: every type as often as any other."""
    kinds = st.sampled_from(sorted({option.type for option in settable()}))
    return kinds.flatmap(
        lambda kind: st.sampled_from([option for option in settable() if option.type == kind]).flatmap(
            lambda option: st.tuples(st.just(option), value_of(option))
        )
    )


@settings(max_examples=500)
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
    assert others == ({context_name(option)} if context != OptionContext(base="defaults") else set())


def context_name(option: Option) -> str:
    """The name under which a context files it: that of the option itself, the first of several."""
    names = [option.alias_of or option.name]
    if literal(option):
        names += option.aliases
    return min(names)


@settings(max_examples=200)
@given(st.lists(st.deferred(one), max_size=6))
def test_contexts_with_the_same_values_are_the_same_however_they_were_made(
    drawn: list[tuple[Option, object]],
) -> None:
    overrides = {context_name(option): (option.name, value) for option, value in drawn}
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
        assert all(other[name] == value for name, value in given_as.items())
    assert same[1].overrides == context.overrides
    assert same[1].args() == context.args()


@settings(max_examples=100)
@given(st.deferred(one), st.deferred(one))
def test_contexts_with_different_values_differ(
    first: tuple[Option, object], second: tuple[Option, object]
) -> None:
    a, b = (OptionContext({option.name: value}, base="defaults") for option, value in (first, second))
    names = {context_name(first[0]), context_name(second[0])}
    assert set(a.diff(b)) <= names
    assert (a == b) == (a.diff(b) == {})
    if context_name(first[0]) == context_name(second[0]) and first[1] != second[1]:
        assert a != b


def test_every_option_that_can_be_set_takes_its_own_default() -> None:
    for option in settable():
        value = option.default
        if value is None or (option.type == "enum" and literal(option)):
            continue
        assert OptionContext({option.name: value}, base="defaults")[option.name] == value, option.name
