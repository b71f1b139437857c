"""The judgements behind the trust policy, held against the whole registry and the code that reads it."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from importlib.resources import files

import pytest

from optctx import Option, OptionContext, registry
from optctx._native import demangle, find_branches
from optctx.engine.attach import attach
from optctx.values.trust import CLASSES, judgement_of

NUMBERS = {"int", "uint", "int64", "uint64", "float", "double"}
TEXTS = {"string", "list", "set", "other", "char"}

# What the functions of LLVM are called that reach outside the process.
SINKS = {
    "prints": r"llvm::(errs|outs)\(\)",
    "opens": r"llvm::(raw_fd_ostream::raw_fd_ostream|raw_fd_stream::raw_fd_stream|DisplayGraph)"
    r"|llvm::ToolOutputFile"
    r"|llvm::sys::fs::(openFile|openNativeFile|create)|llvm::MemoryBuffer::get(File|OpenFile|STDIN)"
    r"|llvm::vfs::getRealFileSystem|llvm::writeToOutput|llvm::FileOutputBuffer",
    "loads": r"llvm::sys::(DynamicLibrary::|Execute|findProgram)|llvm::PassPlugin",
}
# The names of options that print, draw, or check LLVM itself, as LLVM's developers write them.
SUSPICIOUS = re.compile(
    r"(^|-)(print|dump|view|dot|stats|verbose|warn|verify|remarks?|abort|crash|timing|bisect|stress|plugin|file"
    r"|debug|directory)(-|$)"
)
# Those of debug information, of comments and names in what is compiled, of attributes and of compiled calls.
HARMLESS = {
    *("debug-ata-coalesce-frags", "debug-ata-max-blocks", "emit-func-debug-line-table-offsets"),
    *("live-debug-variables", "spv-emit-nonsemantic-debug-info", "use-gnu-debug-macro"),
    *("asm-print-latency", "msan-print-stack-names", "inline-remark-attribute", "dfsan-debug-nonzero-labels"),
}


def options() -> list[Option]:
    known = registry()
    return [known[name] for name in known if known[name].alias_of is None]


def test_every_option_has_been_judged_with_its_type() -> None:
    lines = files("optctx.values").joinpath("judgements.tsv").read_text().splitlines()
    judged = [tuple(line.split("\t")[:2]) for line in lines if not line.startswith("#")]
    there = {(option._target.name, option.type) for option in options()}
    assert len(judged) == len(set(judged)) > 2500
    assert set(judged) == there
    for option in options():
        assert option.trust in CLASSES
        assert option.trust_reason
        assert "has not been judged" not in option.trust_reason
    known = registry()
    assert not set(CLASSES) & set(known), "no option is called like a class"
    aliases = [option for name in known if (option := known[name]).alias_of]
    assert aliases
    for option in aliases:
        assert option.trust == known[option.alias_of or ""].trust


def test_an_option_that_is_not_in_the_list_is_not_tuning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optctx.values.trust._judgements", dict)
    judged = judgement_of(registry()["unroll-count"]._target)
    assert judged.trust == "code"
    assert "has not been judged" in judged.reason


def test_tuning_is_switches_choices_and_numbers_within_bounds() -> None:
    for option in options():
        if option.trust != "tuning":
            continue
        assert option.type not in TEXTS, option.name
        values = option.trusted_values
        least, between, most = values.partition("..")
        if between:
            assert option.type in NUMBERS, option.name
            assert -math.inf < float(least) < float(most) < math.inf, option.name
        elif option.type in NUMBERS:
            assert len([float(value) for value in values.split("|")]) > 1, option.name
        elif values:
            assert len(set(values.split("|")) & set(option.choices)) > 1, option.name


def test_llvms_parsers_take_the_bounds() -> None:
    for option in options():
        if option.trust == "tuning" and option.scope != "process":
            for text in filter(None, re.split(r"\.\.|\|", option.trusted_values)):
                OptionContext.from_args([f"-{option.name}={text}"])


def test_names_that_speak_of_printing_files_and_checks_are_not_tuning() -> None:
    tuning = [option.name for option in options() if option.trust == "tuning"]
    found = set(filter(SUSPICIOUS.search, tuning))
    assert found == HARMLESS


def callers() -> dict[str, set[str]]:
    """Function -> which of SINKS it calls itself."""
    image = attach().image
    kinds = {}
    for symbol in image.functions_named([("_ZN4llvm", "")])[0]:
        name = demangle(symbol.name)
        for kind, pattern in SINKS.items():
            if re.match(pattern, name):
                kinds[symbol.address] = kind
    assert len(kinds) > 30
    assert set(kinds.values()) == set(SINKS)
    calls: dict[str, set[str]] = defaultdict(set)
    for address, target in find_branches(image, sorted(kinds)):
        function = image.function_at(address)
        if function is not None:
            calls[function.name].add(kinds[target])
    return calls


def test_what_reads_a_tuning_option_loads_nothing_and_opens_and_prints_for_others_only() -> None:
    calls = callers()
    seen = 0
    for option in options():
        reaches = {kind for function in option._target.readers for kind in calls.get(function, ())}
        if option.trust != "tuning":
            seen += bool(reaches)
            continue
        assert "loads" not in reaches, option.name
        # Each of these has been looked at: the reason says why that does not come from this option.
        words = {"opens": "opens files or draws for other options", "prints": "for other options"}
        for kind in reaches:
            assert words[kind] in option.trust_reason, (option.name, kind)
    assert seen > 100
