"""Lookups from C++ through the installed header, held against Python's own."""

from __future__ import annotations

import gc
import pathlib
import time
from collections import Counter
from collections.abc import Mapping
from functools import partial

import llvmlite.binding as llvm
import pytest

import optctx
from optctx import OptionContext, current, registry, unbind
from optctx._native import Kind
from optctx.engine.attach import attach
from optctx.hosts.llvmlite import llvm_context_address
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
    return build("lookups.cpp", *SHARED)


@pytest.fixture(scope="session")
def cpp(library: pathlib.Path) -> Lookups:
    return Lookups(library)


def cpp_type(name: str) -> str | None:
    """What C++ looks the option up as; None for a type without a readable form."""
    option = attach().resolve(attach().options[name]).type
    if option.kind in (Kind.list, Kind.bits):
        return f"std::vector<{_TYPES[option.element]}>"
    return _TYPES.get(option.kind)


def compare(cpp: Lookups, values: Mapping[str, object]) -> Counter[str]:
    """Every option, looked up on this thread, against `values`; how many of each C++ type."""
    counts: Counter[str] = Counter()
    for name in registry():
        kind = cpp_type(name)
        counts[str(kind)] += 1
        if kind is None:
            with pytest.raises(LookupError, match=r"TypeMismatch: .* of type other"):
                cpp.get(name, "std::string")
        else:
            assert (name, cpp.get(name, kind)) == (name, values[name])
    return counts


def test_every_option_reads_as_in_python_outside_any_scope(cpp: Lookups) -> None:
    assert cpp.is_process_wide()
    counts = compare(cpp, current())
    assert sum(counts.values()) == len(registry())
    assert counts["None"] < 20, "nearly every option has a readable form"


def test_every_option_reads_as_in_python_inside_a_scope(cpp: Lookups) -> None:
    context = OptionContext(MANY)
    with context:
        assert not cpp.is_process_wide()
        compare(cpp, context)
    for name in MANY:
        kind = cpp_type(name)
        assert kind is not None
        assert context[name] != current()[name], "the override must matter"
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
    assert cpp.occurrences("unroll-count") == 1
    with frozen:
        compare(cpp, frozen)
        assert cpp.occurrences("unroll-count") == 0
    with drifted:
        compare(cpp, drifted)
    optctx.attach(outside="defaults")
    assert not cpp.is_process_wide()
    compare(cpp, frozen)
    assert cpp.occurrences("unroll-count") == 0


def test_an_integer_type_must_hold_every_value(cpp: Lookups) -> None:
    with OptionContext(MANY):
        assert cpp.get("unroll-count", "std::int64_t") == 4
        assert cpp.get("unroll-count", "std::uint64_t") == 4
        assert cpp.get("inline-threshold", "std::int64_t") == -3
        assert cpp.get("cold-branch-ratio", "double") == cpp.get("cold-branch-ratio", "float")
        for name, narrow in {
            "unroll-count": "int",
            "unroll-max-count": "short",
            "inline-threshold": "std::uint64_t",
            "asan-mapping-offset": "std::int64_t",
            "mem-intrinsic-expand-size": "int",
            "chr-bias-threshold": "float",
        }.items():
            with pytest.raises(LookupError, match=f"cannot look up '{name}' as .*: the option is of type"):
                cpp.get(name, narrow)


def test_enums_come_as_their_choice_and_as_what_is_stored(cpp: Lookups) -> None:
    names, stored, _ = attach().options["accel-tables"].stored_choices()
    for name, number in zip(names, stored, strict=True):
        with OptionContext({"accel-tables": name}):
            assert cpp.get("accel-tables", "std::string") == name
            for kind in ("int", "unsigned", "Four", "std::uint64_t"):
                assert cpp.get("accel-tables", kind) == number
    with OptionContext(MANY):
        names, stored, _ = attach().options["loop-interchange-profitabilities"].stored_choices()
        numbers = [stored[names.index(name)] for name in ("cache", "ignore")]
        for kind in ("int", "Four"):
            assert cpp.get("loop-interchange-profitabilities", f"std::vector<{kind}>") == numbers
        for kind in ("std::string", "std::optional<std::string>"):
            assert cpp.get("loop-interchange-profitabilities", f"std::vector<{kind}>") == ["cache", "ignore"]
        with pytest.raises(LookupError, match="as int: the option is of type enum"):
            cpp.get("regalloc", "int")  # a pointer


def test_an_enum_that_holds_none_of_its_choices_says_so(cpp: Lookups) -> None:
    nameless = [name for name in registry() if registry()[name].type == "enum" and current()[name] is None]
    assert nameless
    for name in nameless:
        assert cpp.get(name, "std::optional<std::string>") is None
        with pytest.raises(LookupError, match=r"TypeMismatch: .* it holds \d+, which is none of its choices"):
            cpp.get(name, "std::string")


def test_bool_or_default_has_three_values(cpp: Lookups) -> None:
    name = "aarch64-enable-global-merge"
    for value, stored in ((None, 0), (True, 1), (False, 2)):
        with OptionContext() if value is None else OptionContext({name: value}):
            assert cpp.get(name, "std::optional<bool>") is value
            assert cpp.get(name, "Four") == stored
    for wrong in ("bool", "int"):
        with pytest.raises(LookupError, match=f"as {wrong}: the option is of type boolOrDefault"):
            cpp.get(name, wrong)


@rows(
    ("name", "wrong", "message"),
    [
        ("unroll-count", "bool", "cannot look up 'unroll-count' as bool: the option is of type uint"),
        ("enable-gvn-hoist", "unsigned", "as unsigned: the option is of type bool"),
        ("cfg-func-name", "std::vector<std::string>", "std::string>: the option is of type string"),
        ("amdgpu-use-native", "std::string", "as std::string: the option is of type list"),
        ("amdgpu-use-native", "std::vector<int>", "as std::vector<int>: the option is of type list"),
        ("pgo-analysis-map", "unsigned", "as unsigned: the option is of type bits"),
        ("cfg-func-name", "char", "as char: the option is of type string"),
    ],
)  # fmt: skip
def test_another_type_is_an_error(cpp: Lookups, name: str, wrong: str, message: str) -> None:
    with pytest.raises(LookupError) as caught:
        cpp.get(name, wrong)
    assert str(caught.value).startswith("TypeMismatch: ")
    assert message in str(caught.value)


@rows(
    ("name", "hint"),
    [
        ("unrol-count", "did you mean unroll-count?"),
        ("--unroll_count", "did you mean unroll-count?"),
        ("", "`optctx options` shows every name"),
        ("no such thing at all", "`optctx options` shows every name"),
        ("unroll\ncount", "'unroll?count'"),
        ("x" * 10_000, "`optctx options` shows every name"),
    ],
)
def test_an_unknown_name_is_an_error_that_says_what_may_have_been_meant(
    cpp: Lookups, name: str, hint: str
) -> None:
    assert not cpp.contains(name)
    with pytest.raises(LookupError) as caught:
        cpp.get(name, "int")
    assert str(caught.value).startswith("UnknownOption: no LLVM option is called ")
    assert hint in str(caught.value)
    assert f"among the {len(registry())} of libllvmlite.so" in str(caught.value)


def test_names_and_aliases_are_those_of_python(cpp: Lookups) -> None:
    assert all(cpp.contains(name) for name in registry())
    with OptionContext({"aarch64-streaming-hazard-size": 12}):
        assert cpp.get("aarch64-stack-hazard-size", "unsigned") == 12
        assert cpp.occurrences("aarch64-stack-hazard-size") == 1


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
            kind = cpp_type(name)
            assert kind is not None
            assert cpp.get_kept(name, kind) == expected[name]
    finally:
        cpp.drop()
    assert len(others) == 500


def test_what_cpp_takes_outside_any_scope_stays_process_wide(cpp: Lookups) -> None:
    cpp.keep()
    try:
        with OptionContext({"unroll-count": 4}):
            assert (cpp.get("unroll-count", "unsigned"), cpp.get_kept("unroll-count", "unsigned")) == (4, 0)
    finally:
        cpp.drop()


def test_what_is_bound_to_an_llvm_context_is_found_on_any_thread(cpp: Lookups) -> None:
    with llvm.create_context() as llvm_context, OptionContext({"unroll-count": 4}):
        address = llvm_context_address(llvm_context)
        assert not cpp.is_bound(address)
        with pytest.raises(LookupError, match="NotBound: no OptionContext is bound to this LLVMContext"):
            cpp.get_of(address, "unroll-count")
        OptionContext({"unroll-count": 7}).bind(llvm_context)
        assert cpp.is_bound(address)
        assert (cpp.get_of(address, "unroll-count"), cpp.get("unroll-count", "unsigned")) == (7, 4)
        found: list[object] = []
        in_threads([lambda: found.append(cpp.get_of(address, "unroll-count"))])
        assert found == [7]
        unbind(llvm_context)
        assert not cpp.is_bound(address)


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
    assert "Unavailable: optctx is loaded but has not attached to LLVM yet" in str(caught.value)
    optctx.registry()
    assert cpp.get("unroll-count", "unsigned") == 0
    optctx.detach()
    assert cpp.get("unroll-count", "unsigned") == 0
    with optctx.OptionContext(unroll_count=3):
        assert cpp.get("unroll-count", "unsigned") == 3
