"""Contexts as values. What they say, what they are equal to, how they are made and sent on."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from llvmlite import binding

from optctx import OptionContext, OptionTypeError, current, registry
from tests.support.alone import alone
from tests.support.rows import rows


@rows(
    ("name", "given", "value"),
    [
        ("vectorize-loops", "TRUE", True),
        ("chr-bias-threshold", "-0.0", 0.0),
        ("chr-bias-threshold", math.nan, pytest.approx(math.nan, nan_ok=True)),
        ("internalize-public-api-list", "one,two", ["one", "two"]),
        ("internalize-public-api-list", iter("ab"), ["a", "b"]),
        *(("print-after", [text], [text]) for text in ("a\x01b", "a\x02b", "")),
    ],
)
def test_text_is_judged_by_llvms_parsers_and_values_are_kept(name: str, given: object, value: object) -> None:
    assert OptionContext({name: given})[name] == value


@rows(
    ("args", "name", "value"),
    [
        (["--unroll-count=4"], "unroll-count", 4),
        (["-unroll-count", "4"], "unroll-count", 4),
        (["-vectorize-loops"], "vectorize-loops", True),
        (["-arm-restrict-it"], "arm-default-it", "arm-restrict-it"),
        (["-print-after=a,b", "-print-after=c"], "print-after", ["a", "b", "c"]),
        ("-asan-memory-access-callback-prefix='a b'", "asan-memory-access-callback-prefix", "a b"),
        ("", "unroll-count", 0),
    ],
)
def test_every_form_of_a_command_line(args: list[str] | str, name: str, value: object) -> None:
    assert OptionContext.from_args(args, base="defaults")[name] == value


def test_an_option_is_set_by_keyword_by_alias_and_by_each_of_its_choices() -> None:
    context = OptionContext({"unroll-count": 4}, inline_threshold=500)
    assert dict(context.overrides) == {"unroll-count": 4, "inline-threshold": 500}
    assert OptionContext(unroll_count=4) == OptionContext({"unroll-count": 4})
    alias = OptionContext({"aarch64-stack-hazard-size": 64})
    assert alias["aarch64-streaming-hazard-size"] == alias["aarch64-stack-hazard-size"] == 64
    assert alias == OptionContext({"aarch64-streaming-hazard-size": 64})
    assert dict(alias.overrides) == {"aarch64-streaming-hazard-size": 64}
    choice = OptionContext({"regbankselect-greedy": True}).derive({"regbankselect-fast": True})
    assert choice.args() == ["-regbankselect-fast"]
    assert choice["regbankselect-greedy"] == "regbankselect-fast"
    assert choice == OptionContext({"regbankselect-fast": True})


def test_it_is_a_read_only_mapping_of_every_option() -> None:
    context = OptionContext({"unroll-count": 4})
    assert isinstance(context, Mapping)
    assert len(context) == len(registry()) == len(dict(context))
    assert list(context) == list(registry())
    assert "unroll-count" in context
    assert "no-such-option" not in context
    assert context["inline-threshold"] == 225
    assert repr(context) == "OptionContext({'unroll-count': 4})"
    for mapping in (context, context.overrides):
        with pytest.raises(TypeError):
            mapping["unroll-count"] = 5  # type: ignore[index]
    with pytest.raises(AttributeError):
        context.anything = 1  # type: ignore[attr-defined]
    listed = OptionContext({"print-after": ["a"]})
    listed.get("print-after", list).append("b")
    assert listed["print-after"] == ["a"], "what a lookup returns is the caller's own"
    before = hash(context)
    with context:
        with pytest.raises(OptionTypeError, match="a context never changes"):
            context.__init__(unroll_count=8)  # type: ignore[misc]
        assert current() is context
    assert (context["unroll-count"], hash(context)) == (4, before)


def test_equality_and_differences_are_by_what_llvm_would_see() -> None:
    """Of random values: tests/promises/test_properties.py."""
    made = [
        OptionContext({"unroll-count": 4, "print-after": "a,b"}),
        OptionContext({"print-after": ["a", "b"], "unroll-count": "0x4"}),
        OptionContext.from_args("-print-after=a -unroll-count=4 -print-after=b", base="defaults"),
        OptionContext({"unroll-count": 4}, base=OptionContext(print_after=["a", "b"], unroll_count=3)),
    ]
    assert all(context == made[0] for context in made)
    assert len({hash(context) for context in made}) == len(set(made)) == 1
    assert made[0] != dict(made[0])
    assert OptionContext({"x86-align-branch": "jcc"}) != OptionContext({"x86-align-branch": "jmp"})
    first, second = (OptionContext({"unroll-count": count}, print_after=["a"]) for count in (4, 8))
    assert first.diff(second.derive(print_after=[])) == {"print-after": (["a"], []), "unroll-count": (4, 8)}
    assert first.diff(first.derive()) == {}
    # LLVM can tell an option that was given its default from one that was not given.
    assert OptionContext({"unroll-count": 0}).diff(OptionContext()) == {"unroll-count": (0, 0)}
    for name in ("print-after", "pgo-analysis-map"):  # but not an empty list
        assert OptionContext({name: []}).diff(OptionContext()) == {}
        assert OptionContext({name: []}) == OptionContext()
        assert hash(OptionContext({name: []})) == hash(OptionContext())


@alone
def test_its_repr_shows_when_its_values_were_taken() -> None:
    """Unequal contexts look unequal. Each repr, evaluated among the registered values, gives an equal one."""
    made: list[OptionContext] = []

    def make() -> None:
        for given in ({}, {"inline-threshold": 50}, {"unroll-count": 4}, {"print-after": ["x"]}):
            for base in ("inherit", "defaults", OptionContext(slp_threshold=3, unroll_count=2)):
                made.append(OptionContext(given, base=base))
            made.append(OptionContext(unroll_count=9).derive(given))

    make()
    for outer in ({"unroll-count": 8, "regalloc": "greedy"}, {"print-after": ["x", "y"]}):
        with OptionContext(outer):
            make()
            with OptionContext(inline_threshold=7):
                make()
    binding.set_option("", "-unroll-count=3")
    binding.set_option("", "-asan-memory-access-callback-prefix=_a")
    make()
    looks: dict[str, OptionContext] = {}
    with OptionContext(base="defaults"):
        for context in made:
            assert looks.setdefault(repr(context), context) == context
            assert eval(repr(context)) == context
    assert len(looks) > 30


def test_a_context_that_is_made_anew_from_overrides_inherits_where_it_is_entered() -> None:
    earlier = OptionContext({"inline-threshold": 50, "print-after": ["x"], "regalloc": "greedy"}, debug=True)
    with OptionContext(unroll_count=4):
        with earlier:
            assert current()["unroll-count"] == 0
        with OptionContext(earlier.overrides) as anew:
            assert current()["unroll-count"] == 4
            assert anew.overrides == earlier.overrides
            assert anew == OptionContext(unroll_count=4).derive(earlier.overrides)
    assert repr(anew) == f"{repr(earlier)[:-1]}, base=OptionContext({{'unroll-count': 4}}))"


class Named(OptionContext):
    """Takes other arguments than its base, and has attributes."""

    def __init__(self, name: str, count: int) -> None:
        super().__init__(unroll_count=count)
        self.tags = [name]
        self.itself = self


COPIES: dict[str, Callable[[Any], Any]] = {
    "copied": copy.copy,
    "copied deeply": copy.deepcopy,
    "pickled": lambda context: pickle.loads(pickle.dumps(context)),
}


@rows("how", COPIES)
def test_a_copy_of_a_subclass_is_of_that_subclass_and_has_its_attributes(how: str) -> None:
    named = Named("n", 4)
    made = COPIES[how](named)
    assert type(made) is Named
    assert made is not named
    assert made == named
    assert (made.tags, dict(made.overrides)) == (["n"], {"unroll-count": 4})
    assert (made.tags is named.tags) == (how == "copied")
    assert made.itself is (named if how == "copied" else made)
    with made:
        assert current() is made


@alone
def test_process_wide_values_are_inherited_and_travel() -> None:
    before = OptionContext()
    binding.set_option("", "-unroll-count=3")
    binding.set_option("", "-asan-memory-access-callback-prefix=_a")
    binding.set_option("", "-print-after=x")
    binding.set_option("", "-regbankselect-greedy")
    inherited, defaults = OptionContext(inline_threshold=9), OptionContext(base="defaults")
    names = ("unroll-count", "asan-memory-access-callback-prefix", "print-after", "regbankselect-fast")
    now, registered = [3, "_a", ["x"], "regbankselect-greedy"], [0, "__asan_", [], "regbankselect-fast"]
    assert [inherited[name] for name in names] == now == [current()[name] for name in names]
    assert [defaults[name] for name in names] == registered == [before[name] for name in names]
    assert defaults == before != inherited
    assert set(defaults.diff(current())) == set(names)
    again = pickle.loads(pickle.dumps(inherited))
    assert again == inherited
    assert dict(again.overrides) == {"inline-threshold": 9}
