"""Lookups from C++ through the installed header, held against Python's own."""

from __future__ import annotations

import gc
import pathlib
import time
from collections import Counter
from collections.abc import Mapping
from functools import partial

import pytest

import optctx
from optctx import OptionContext, current, registry
from optctx._native import Kind
from optctx.engine.attach import attach
from optctx.process import set_process_options
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, Build, Lookups
from tests.support.rows import rows
from tests.support.scopes import in_threads

# What every value of an option fits, by its kind.
_TYPES = {
    Kind.boolean: "bool",
    Kind.bool_or_default: "std::optional<bool>",
    Kind.int32: "int",
    Kind.uint32: "unsigned",
    Kind.int64: "std::int64_t",
    Kind.uint64: "std::uint64_t",
    Kind.float32: "float",
    Kind.float64: "double",
    Kind.string: "std::string",
    Kind.enumeration: "std::optional<std::string>",
}
# At least one of each kind, in storage of its own and where cl::location says, and an alias.
MANY = {
    "enable-gvn-hoist": True,
    "amdgpu-function-calls": False,
    "aarch64-enable-global-merge": False,
    "inline-threshold": -3,
    "unroll-count": 4,
    "force-vector-width": 8,
    "aarch64-streaming-hazard-size": 12,
    "mem-intrinsic-expand-size": -(2**40),
    "asan-mapping-offset": 2**63 + 1,
    "cold-branch-ratio": 0.25,
    "chr-bias-threshold": 0.1,
    "cfg-func-name": "naïve name",
    "accel-tables": "Dwarf",
    "regalloc": "greedy",
    "print-region-style": "bb",
    "amdgpu-use-native": ["sin", "cos"],
    "print-after-pass-number": [3, 1],
    "thinlto-move-symbols": [7, 9],
    "loop-interchange-profitabilities": ["cache", "ignore"],
    "pgo-analysis-map": ["bb-freq", "br-prob"],
}  # fmt: skip
_TOGETHER = ("unroll-count", "unroll-max-count", "cfg-func-name")  # set to the same number


@pytest.fixture(scope="session")
def library(build: Build) -> pathlib.Path:
    registry()
    return build("lookups.cpp", *SHARED, "-O0")


@pytest.fixture(scope="session")
def cpp(library: pathlib.Path) -> Lookups:
    return Lookups(library)


def cpp_type(name: str) -> str | None:
    """What C++ looks the option up as; None for a list and for a type without a readable form."""
    option = attach().resolve(attach().options[name]).type
    return _TYPES.get(option.kind)


def compare(cpp: Lookups, values: Mapping[str, object]) -> Counter[str]:
    """Every option, looked up on this thread, against `values`; how many of each C++ type."""
    counts: Counter[str] = Counter()
    for name in registry():
        kind = cpp_type(name)
        counts[str(kind)] += 1
        if kind is None:
            with pytest.raises(LookupError, match=r"^3: .*: (its value has no readable|it is a list; ask)"):
                cpp.get(name, "std::string")
        else:
            assert (name, cpp.get(name, kind)) == (name, values[name])
    return counts


def test_every_option_reads_as_in_python_inside_a_scope(cpp: Lookups) -> None:
    context = OptionContext(MANY)
    with context:
        compare(cpp, context)
    for name in MANY:
        assert context[name] != current()[name], "the override must matter"
        if (kind := cpp_type(name)) is not None:
            assert cpp.get(name, kind) == current()[name], "and is gone after the scope"


@alone
def test_what_is_set_process_wide_reaches_no_scope(library: pathlib.Path) -> None:
    cpp = Lookups(library)
    given = OptionContext(MANY, base="defaults")
    frozen = OptionContext(base="defaults")
    set_process_options(given.args())
    drifted = current()
    assert {name: drifted[name] for name in MANY} == {name: given[name] for name in MANY}
    compare(cpp, drifted)
    with frozen:
        compare(cpp, frozen)
    with drifted:
        compare(cpp, drifted)
    optctx.attach(outside="defaults")
    compare(cpp, frozen)


def test_an_integer_type_must_hold_every_value(cpp: Lookups) -> None:
    with OptionContext(MANY):
        assert cpp.get("unroll-count", "std::int64_t") == 4
        assert cpp.get("unroll-count", "std::uint64_t") == 4
        assert cpp.get("inline-threshold", "std::int64_t") == -3
        assert cpp.get("cold-branch-ratio", "double") == cpp.get("cold-branch-ratio", "float")
        for name, narrow in {
            "unroll-count": "int",
            "inline-threshold": "std::uint64_t",
            "mem-intrinsic-expand-size": "int",
            "chr-bias-threshold": "float",
        }.items():
            with pytest.raises(
                LookupError, match=f"^3: cannot look up '{name}' as this C\\+\\+ type: look it"
            ):
                cpp.get(name, narrow)


@rows(
    ("name", "wrong", "fitting"),
    [
        ("unroll-count", "bool", "unsigned"),
        ("enable-gvn-hoist", "unsigned", "bool"),
        ("cfg-func-name", "int", "std::string"),
    ],
)
def test_another_type_is_an_error_that_says_which_fits(
    cpp: Lookups, name: str, wrong: str, fitting: str
) -> None:
    with pytest.raises(LookupError) as caught:
        cpp.get(name, wrong)
    assert str(caught.value) == f"3: cannot look up '{name}' as this C++ type: look it up as {fitting}"
    cpp.get(name, fitting)


def test_an_unknown_name_is_an_error_that_says_where_all_are(cpp: Lookups) -> None:
    with pytest.raises(LookupError) as caught:
        cpp.get("€" * 10_000, "int")
    assert str(caught.value).startswith(f"2: no LLVM option is called '{'€' * 10}")
    assert str(caught.value).endswith("'; `optctx options` shows every name")


def test_a_context_that_cpp_holds_outlives_its_scope_and_its_python_object(cpp: Lookups) -> None:
    context = OptionContext(MANY)
    expected = dict(context)
    with context:
        cpp.keep()
    del context
    gc.collect()
    others = [OptionContext({"unroll-count": n, "cfg-func-name": str(n)}) for n in range(500)]
    try:
        for name in MANY:
            if (kind := cpp_type(name)) is not None:
                assert cpp.get_kept(name, kind) == expected[name]
    finally:
        cpp.drop()
    assert len(others) == 500


def test_lookups_are_right_while_scopes_come_and_go(cpp: Lookups) -> None:
    def work(number: int) -> None:
        end = time.monotonic() + 0.6
        while time.monotonic() < end:
            with OptionContext(dict.fromkeys(_TOGETHER[:2], number), cfg_func_name=str(number)):
                assert cpp.wrong(number, 300) == 0
                cpp.keep()  # drops the one of another thread, perhaps while it is looked at
            assert cpp.wrong(0, 300) == 0
            assert cpp.torn(100) == 0

    with OptionContext(dict.fromkeys(_TOGETHER[:2], 1), cfg_func_name="1"):
        cpp.keep()
    try:
        in_threads([partial(work, number) for number in range(1, 5)])
    finally:
        cpp.drop()


@alone
def test_before_python_has_attached_cpp_says_so_and_afterwards_it_works(library: pathlib.Path) -> None:
    cpp = Lookups(library)
    with pytest.raises(LookupError) as caught:
        cpp.get("unroll-count", "unsigned")
    assert "1: optctx is loaded but has not attached to LLVM yet" in str(caught.value)
    optctx.registry()
    assert cpp.get("unroll-count", "unsigned") == 0
    optctx.detach()
    assert cpp.get("unroll-count", "unsigned") == 0
    with optctx.OptionContext(unroll_count=3):
        assert cpp.get("unroll-count", "unsigned") == 3
