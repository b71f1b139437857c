"""N0: what LLVM registered, held against what LLVM itself prints and what is known of single options."""

from __future__ import annotations

import re
from collections import Counter

from llvmlite import binding

from optctx import OptionContext, drift, registry
from tests.support.alone import alone
from tests.support.processes import run_python

PLAIN = {"int", "uint", "int64", "uint64", "bool", "string"}

# LLVM's own listing, from a process in which it runs as a tool's command line would.
LLVM_LISTS = """
import ctypes, sys
from optctx.process import set_process_options
from optctx.hosts.llvmlite import llvmlite_image
set_process_options(sys.argv[1:])
ctypes.CFUNCTYPE(None)(llvmlite_image().named("_ZN4llvm2cl17PrintOptionValuesEv").address)()
"""


def test_it_has_every_name_that_llvm_lists_and_no_other() -> None:
    text = run_python(LLVM_LISTS, "-help-list-hidden")
    listed = set(re.findall(r"^ {2,6}--?([^\s=\[]+)", text, re.MULTILINE))
    assert len(listed) > 2500
    options = registry()
    # LLVM never lists what is really hidden, and registers -h (cl::DefaultOption) only while it parses.
    assert {name for name, option in options.items() if option.hidden != "really"} == listed - {"h"}
    assert len(options) == 2596
    assert list(options) == sorted(options)


def test_what_llvm_adds_to_parse_a_command_line_is_none_of_them() -> None:
    parsed = "from optctx.process import set_process_options; set_process_options(['-unroll-count=4'])"
    listed = run_python(f"{parsed}\nfrom optctx import registry\nprint(*registry())")
    assert listed.split() == list(registry())


def test_plain_values_and_defaults_are_those_that_llvm_prints() -> None:
    text = run_python(LLVM_LISTS, "-print-all-options")
    printed = re.findall(r"^ +--(\S+) += (.*?) *\(default: (.*)\)$", text, re.MULTILINE)
    assert len(printed) > 2000
    checked: Counter[str] = Counter()
    for name, value, default in printed:
        option = registry()[name]
        if name == "print-all-options" or option.type not in PLAIN:
            continue
        # An option without cl::init prints no default; what it has is T().
        expected = [value] if default in ("*no default*", "") else [value, default]
        found = [option.value, option.default]
        assert [_llvm_text(v) for v in found[: len(expected)]] == expected, name
        checked[option.type] += 1
    assert set(checked) == PLAIN


def _llvm_text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def test_every_option_can_be_described() -> None:
    for name, option in registry().items():
        assert option.name == name
        assert option.storage in ("internal", "external", "heap")
        assert option.hidden in ("not", "hidden", "really")
        assert bool(option.reason) == (option.scope == "process"), name
        assert option.categories, name
        assert isinstance(option.help, str)
        assert f"Option {name}: {option.type}" in repr(option)
        assert option.choices or option.type != "enum", name
        if option.scope != "process":
            assert bool(option.read_by) == (option.scope == "thread"), name
    assert Counter(option.scope for option in registry().values())["thread"] > 2500
    assert any("llvm::computeUnrollCount(" in name for name in registry()["unroll-count"].read_by)


def test_aliases_choices_and_categories_are_those_that_llvm_knows() -> None:
    options = registry()
    alias, target = options["aarch64-stack-hazard-size"], options["aarch64-streaming-hazard-size"]
    assert (alias.alias_of, alias.help) == (target.name, f"alias for -{target.name}")
    assert (target.alias_of, target.aliases) == (None, (alias.name,))
    assert (alias.type, alias.scope, alias.read_by) == (target.type, target.scope, target.read_by)
    # Choices that are options themselves share one option.
    first, second = options["arm-default-it"], options["arm-restrict-it"]
    assert (first.aliases, second.aliases) == (("arm-restrict-it",), ("arm-default-it",))
    assert set(first.choices) == set(second.choices) == {"arm-default-it", "arm-restrict-it"}
    assert first.default == second.default == "arm-default-it"
    bits = options["pgo-analysis-map"].choices
    assert list(bits) == ["none", "func-entry-count", "bb-freq", "br-prob", "all"]
    assert bits["br-prob"] == "Branch Probability"
    assert options["unroll-count"].choices == {}
    assert options["unroll-count"].help.startswith("Use this unroll count for all loops")
    assert options["unroll-count"].categories == ("General options",)
    assert options["ir2vec-kind"].categories == ("IR2Vec Options",)
    assert [options[name].hidden for name in ("help", "unroll-count")] == ["not", "hidden"]
    heap = options["rng-seed"]
    assert (heap.type, heap.storage, heap.default, heap.value, heap.occurrences) == (
        "uint64",
        "heap",
        0,
        0,
        0,
    )
    assert options["chr-bias-threshold"].default == options["chr-bias-threshold"].value == 0.99


@alone
def test_value_follows_the_process_and_default_does_not() -> None:
    for given in BEFORE:
        binding.set_option("before", f"-{given}")
    options = registry()

    def read(given: str) -> tuple[object, object, int]:
        option = options[given.partition("=")[0]]
        return option.value, option.default, option.occurrences

    assert {given: read(given) for given in BEFORE} == BEFORE
    assert {each.name: each.value for each in drift().values()} == {
        given.partition("=")[0]: value for given, (value, _, _) in BEFORE.items()
    }
    for given in GIVEN:
        binding.set_option("after", f"-{given}")
    with OptionContext({"unroll-count": 6}):
        assert {given: read(given) for given in GIVEN} == GIVEN
    assert read("arm-restrict-it") == read("arm-default-it")
    for given, (_, default, _) in BEFORE.items():
        name = given.partition("=")[0]
        assert options[name].scope == "process" or OptionContext(base="defaults")[name] == default


# What is given, before the first use or after it -> value, default, how often it was given
BEFORE = {
    "unroll-count=3": (3, 0, 1),
    "rng-seed=9": (9, 0, 1),
    "loop-interchange-profitabilities=ignore": (["ignore"], ["cache", "instorder", "vectorize"], 1),
    "force-attribute=f:cold": (["f:cold"], [], 1),
}
GIVEN = {
    "x86-asm-syntax=intel": ("intel", "att", 1),
    "force-vector-width=8": (8, 0, 1),
    "asan-memory-access-callback-prefix=_a": ("_a", "__asan_", 1),
    "enable-tail-merge=false": (False, None, 1),
    "pgo-analysis-map=bb-freq,br-prob": (["bb-freq", "br-prob"], [], 2),
    "aarch64-stack-hazard-size=64": (64, 0, 1),
    "arm-restrict-it": ("arm-restrict-it", "arm-default-it", 1),
}
