"""Lookups from C++ through the installed header, held against Python's own."""

from __future__ import annotations

import ctypes
import gc
import pathlib
from collections.abc import Mapping
from ctypes import CFUNCTYPE, c_char_p

import pytest

import optctx
from optctx import OptionContext, current, registry
from optctx._native import Kind
from optctx.engine.attach import attach
from optctx.process import set_process_options
from tests.support.alone import alone
from tests.support.cpp_build import SHARED, Build
from tests.support.rows import rows

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


class Lookups:
    """tests/programs/cpp/lookups.cpp, loaded."""

    def __init__(self, path: pathlib.Path) -> None:
        library = ctypes.CDLL(str(path))
        by_text = CFUNCTYPE(c_char_p, c_char_p, c_char_p)
        self._look_up, self._look_up_kept = by_text(("look_up", library)), by_text(("look_up_kept", library))
        self.keep, self.drop = (CFUNCTYPE(None)((name, library)) for name in ("keep", "drop"))

    def get(self, name: str, cpp_type: str, kept: bool = False) -> object:
        """optctx::get<cpp_type>(name) as a Python value; LookupError with an error's status and message.

        `kept`: in a scope of the context that `keep` took.
        """
        look = self._look_up_kept if kept else self._look_up
        text = look(name.encode(), cpp_type.encode()).decode()
        if not text.startswith("="):
            raise LookupError(text)
        return _parse(text[1:], cpp_type)


def _parse(text: str, cpp_type: str) -> object:
    if cpp_type.startswith("std::optional<"):
        return None if text == "None" else _parse(text, cpp_type[len("std::optional<") : -1])
    if cpp_type == "bool":
        return {"True": True, "False": False}[text]
    if cpp_type in ("float", "double"):
        return float.fromhex(text)
    return text if cpp_type == "std::string" else int(text)


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


def compare(cpp: Lookups, values: Mapping[str, object]) -> None:
    """Every option, looked up on this thread, against `values`."""
    for name in registry():
        kind = cpp_type(name)
        if kind is None:
            with pytest.raises(LookupError, match=r"^3: .*: (its value has no readable|it is a list; ask)"):
                cpp.get(name, "std::string")
        else:
            assert (name, cpp.get(name, kind)) == (name, values[name])


@alone
def test_every_option_reads_as_in_python_and_what_is_set_process_wide_reaches_no_scope(
    library: pathlib.Path,
) -> None:
    cpp = Lookups(library)
    given, frozen = OptionContext(MANY, base="defaults"), OptionContext(base="defaults")
    assert not [name for name in MANY if given[name] == frozen[name]], "the overrides must matter"
    with given:
        compare(cpp, given)
    compare(cpp, frozen)
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
    optctx.detach()
    assert cpp.get("unroll-count", "unsigned") == 4


AS = "3: cannot look up 'NAME' as this C++ type: look it up as "
NAMED = "€" * 10_000


@rows(
    ("name", "wrong", "message"),
    [
        ("unroll-count", "bool", f"{AS}unsigned"),
        ("enable-gvn-hoist", "unsigned", f"{AS}bool"),
        ("cfg-func-name", "int", f"{AS}std::string"),
        # Not every value fits.
        ("unroll-count", "int", f"{AS}unsigned"),
        ("inline-threshold", "std::uint64_t", f"{AS}int"),
        ("mem-intrinsic-expand-size", "int", f"{AS}std::int64_t"),
        ("chr-bias-threshold", "float", f"{AS}double"),
        (NAMED, "int", f"2: no LLVM option is called '{'€' * 10}"),
    ],
)
def test_another_type_is_an_error_that_says_which_fits_and_a_wider_one_is_none(
    cpp: Lookups, name: str, wrong: str, message: str
) -> None:
    with pytest.raises(LookupError) as caught:
        cpp.get(name, wrong)
    assert str(caught.value).startswith(message.replace("NAME", name))
    with OptionContext(MANY):
        assert cpp.get("unroll-count", "std::int64_t") == cpp.get("unroll-count", "std::uint64_t") == 4
        assert cpp.get("inline-threshold", "std::int64_t") == -3
        assert cpp.get("cold-branch-ratio", "double") == cpp.get("cold-branch-ratio", "float")


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
                assert cpp.get(name, kind, kept=True) == expected[name]
    finally:
        cpp.drop()
    assert len(others) == 500
