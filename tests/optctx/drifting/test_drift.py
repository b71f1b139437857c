"""`drift()`: what somebody else has set for the whole process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest

import optctx
from optctx import Drift, OptionContext, drift, registry
from optctx.engine.attach import attach
from tests.support.alone import alone
from tests.support.processes import in_child, run_python
from tests.support.scopes import process_state, reset_all, set_option, unrolled, unrolled_by_llvmlite, write

pytestmark = pytest.mark.usefixtures("attached")

# LLVM prints, or judges the text in a way of its own.
LEFT_OUT = {"debug", "opt-bisect", "print-all-options", "print-options"}
TEXTS = {
    "bool": "true",
    "boolOrDefault": "true",
    "int": "71",
    "uint": "71",
    "int64": "71",
    "uint64": "71",
    "float": "0.75",
    "double": "0.75",
    "char": "x",
    "string": "text",
}


def test_nothing_has_drifted_where_nobody_set_anything() -> None:
    assert dict(drift()) == {}
    assert str(drift()) == "every option is as it was registered"
    assert repr(drift()) == "<Drifts: none>"


def test_what_was_set_before_optctx_was_there_is_told() -> None:
    said = run_python("""
        import llvmlite.binding as llvm
        llvm.set_option("", "-unroll-count=4")
        llvm.set_option("", "-slp-threshold=0")
        llvm.set_option("", "-rng-seed=9")
        import optctx
        print(optctx.drift())
    """)
    assert said == (
        "rng-seed: 0 was registered, 9 now (given once)\n"
        "slp-threshold: 0 was registered, 0 now (given once)\n"
        "unroll-count: 0 was registered, 4 now (given once)\n"
    )


def test_it_is_what_changes_what_llvm_does() -> None:
    def child() -> None:
        set_option("unroll-count", "4")
        assert dict(drift()) == {"unroll-count": Drift("unroll-count", 0, 4, 1)}
        assert drift()["unroll-count"].given
        assert unrolled_by_llvmlite() == 4
        with OptionContext(base="defaults"):
            assert unrolled() == 1
        reset_all()
        assert dict(drift()) == {}
        assert unrolled_by_llvmlite() == 1

    in_child(child)


def texts_of_everything() -> dict[str, str]:
    """Name -> a value, for options with a readable form; aliases and literal choices are left out."""
    found = {}
    for name, option in registry().items():
        if option.alias_of is not None or option.aliases or name in LEFT_OUT:
            continue
        text = next((choice for choice in option.choices if choice), TEXTS.get(option.type))
        text = f"+{text}" if option.type == "set" else text
        if text is not None and option.type != "other":
            found[name] = text
    return found


def test_every_option_of_every_type_is_told_with_its_value() -> None:
    def child() -> None:
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

    in_child(child)


DRIFTED: list[tuple[str, str | None, object, object, int]] = [
    ("inline-threshold", "77", 225, 77, 1),
    ("stats", None, False, True, 1),
    ("filter-print-funcs", "a,b", [], ["a", "b"], 2),
    ("opt-bisect-limit", "6", -1, 6, 1),
    ("vp-counters-per-site", "2.5", 1.0, 2.5, 1),
    ("crash-diagnostics-dir", "here", "", "here", 1),
]


def test_values_have_the_type_of_the_option() -> None:
    def child() -> None:
        for name, text, *_ in DRIFTED:
            set_option(name, text)
        expected = {
            name: Drift(name, registered, value, count)  # type: ignore[arg-type]
            for name, _, registered, value, count in DRIFTED
        }
        assert drift() == expected

    in_child(child)


def test_types_without_a_readable_form_tell_that_they_were_given() -> None:
    def child() -> None:
        set_option("debug-only", "loop-unroll")
        assert str(drift()) == (
            "debug: False was registered, True now (not given)\n"
            "debug-only: given once (its type has no readable form)"
        )

    in_child(child)


def test_so_do_those_that_contexts_can_set() -> None:
    def child() -> None:
        names = {"pass-remarks": "x", "sve-tail-folding": "all", "x86-align-branch": "jcc"}
        for name, text in names.items():
            set_option(name, text)
        assert drift() == {name: Drift(name, None, None, 1, False) for name in names}

    in_child(child)


@alone
def test_a_number_that_is_an_address_of_the_option_stays_that_number() -> None:
    """A copy of an option moves the addresses along that it keeps of its own storage, and nothing else."""
    name = "mem-intrinsic-expand-size"  # 64 bits
    number = attach().options[name].address + 40
    set_option(name, str(number))
    assert drift()[name].value == OptionContext()[name] == number


def test_an_alias_counts_as_what_it_stands_for() -> None:
    def child() -> None:
        set_option("aarch64-stack-hazard-size", "7")
        assert str(drift()) == "aarch64-streaming-hazard-size: 0 was registered, 7 now (given once)"

    in_child(child)


def test_what_was_written_without_being_given_is_told() -> None:
    def child() -> None:
        write("unroll-count", 3)
        assert str(drift()) == "unroll-count: 0 was registered, 3 now (not given)"
        assert not drift()["unroll-count"].given

    in_child(child)


def test_contexts_are_not_drift() -> None:
    with OptionContext(unroll_count=4):
        assert dict(drift()) == {}


def test_what_a_context_changes_process_wide_is_not_drift_and_what_it_covers_is() -> None:
    def child() -> None:
        set_option("rng-seed", "5")
        set_option("crash-diagnostics-dir", "before")
        expected = str(drift())
        changes: dict[str, object] = {
            "rng-seed": 7,
            "crash-diagnostics-dir": "inside",
            "stats": True,
            "time-passes": True,
            "debug-only": "x",
        }
        sets: Literal["contain", "process"] = "process" if attach().intercepts else "contain"
        with OptionContext(changes, process_wide="exclusive", sets=sets):
            assert registry()["rng-seed"].value == 7
            assert str(drift()) == expected
            set_option("track-memory")
            assert list(drift()) == ["crash-diagnostics-dir", "rng-seed", "track-memory"]
        assert list(drift()) == ["crash-diagnostics-dir", "rng-seed", "track-memory"]

    in_child(child)


@pytest.mark.parametrize(
    "look", [lambda: drift()["no-such-option"], lambda: drift()["unroll-count"]], ids=["unknown", "unchanged"]
)
def test_what_has_not_drifted_is_not_in_it(look: Callable[[], object]) -> None:
    with pytest.raises(KeyError):
        look()


def test_it_changes_nothing() -> None:
    before = process_state()
    optctx.drift()
    assert process_state() == before
