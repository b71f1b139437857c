"""`drift()`: what somebody else has set for the whole process."""

from __future__ import annotations

import ctypes

import pytest
from llvmlite import binding

from optctx import Drift, OptionContext, drift, registry
from tests.support.alone import alone
from tests.support.processes import forked
from tests.support.scopes import meanwhile, process_state, reset_all, set_option, write

pytestmark = pytest.mark.usefixtures("attached")

# LLVM prints, or judges the text in a way of its own.
LEFT_OUT = {"debug", "opt-bisect", "print-all-options", "print-options"}
TEXTS = {
    **dict.fromkeys(("bool", "boolOrDefault"), "true"),
    **dict.fromkeys(("int", "uint", "int64", "uint64"), "71"),
    **dict.fromkeys(("float", "double"), "0.75"),
    **dict.fromkeys(("char", "string"), "x"),
}


def test_nothing_has_drifted_where_nothing_was_set_but_by_contexts_and_to_look_changes_nothing() -> None:
    before = process_state()
    with OptionContext(unroll_count=4):
        found = drift()
    assert (dict(found), str(found)) == ({}, "every option is as it was registered")
    assert repr(found) == "<Drifts: none>"
    with pytest.raises(KeyError):
        found["unroll-count"]
    assert process_state() == before


def texts_of_everything() -> dict[str, str]:
    """Name -> a value, for options with a readable form; aliases and literal choices are left out."""
    found = {}
    for name, option in registry().items():
        if option.alias_of is None and not option.aliases and name not in LEFT_OUT:
            text = next((choice for choice in option.choices if choice), TEXTS.get(option.type))
            if text is not None and option.type != "other":
                found[name] = f"+{text}" if option.type == "set" else text
    return found


@forked
def test_every_option_of_every_type_is_told_with_its_value() -> None:
    texts = texts_of_everything()
    before = process_state()
    for name, text in texts.items():
        set_option(name, text)
    found = drift()
    assert set(texts) <= set(found), set(texts) - set(found)
    after = process_state()
    for name, each in found.items():
        assert (each.registered, 0) == before[name], name
        assert (each.value, each.occurrences) == after[name], name
    kinds = {(registry()[name].type, registry()[name].storage) for name in found}
    assert len(kinds) >= 12, kinds
    assert len(found) > 2000


# What is given, if anything -> what is told of it.
DRIFTED: list[tuple[str, Drift]] = [
    ("-inline-threshold=77", Drift("inline-threshold", 225, 77, 1)),
    ("-stats", Drift("stats", False, True, 1)),
    ("-filter-print-funcs=a,b", Drift("filter-print-funcs", [], ["a", "b"], 2)),
    ("-aarch64-stack-hazard-size=7", Drift("aarch64-streaming-hazard-size", 0, 7, 1)),  # an alias
    # Without a readable form; contexts can set the second all the same.
    ("-debug-only=loop-unroll", Drift("debug-only", None, None, 1, False)),
    ("-pass-remarks=x", Drift("pass-remarks", None, None, 1, False)),
    # Written without being given.
    ("", Drift("debug", False, True, 0)),  # by `debug-only`
    ("", Drift("unroll-count", 0, 3, 0)),
]


@forked
def test_what_was_given_or_written_is_told_as_its_type_has_it() -> None:
    for given, _ in DRIFTED:
        if given:
            binding.set_option("", given)
    write("unroll-count", 3)
    found = drift()
    assert found == {each.name: each for _, each in DRIFTED}
    assert (found["stats"].given, found["unroll-count"].given) == (True, False)
    assert {
        "unroll-count: 0 was registered, 3 now (not given)",
        "debug-only: given once (its type has no readable form)",
        "aarch64-streaming-hazard-size: 0 was registered, 7 now (given once)",
    } <= set(str(found).splitlines())
    reset_all()
    assert dict(drift()) == {}


_MMAP_THRESHOLD = -3  # of mallopt(3)


@alone
def test_a_text_is_looked_at_while_another_thread_sets_it() -> None:
    """LLVM frees the text that it replaces. A long one is unmapped here at once, so a late look crashes."""
    drift()
    ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 4096)
    with meanwhile(drift):
        for number in range(2000):
            set_option("cfg-func-name", "a" * (5000 + number % 7 * 5000))
