"""Where options are stored and who refers to them, against LLVM's sources and the engine."""

from __future__ import annotations

import re

import pytest

from optctx import registry
from optctx._native import Symbol, demangle
from optctx.engine.attach import attach
from optctx.facts import UNKNOWN, Facts, OptionFacts, Origins, advice, facts, resolve, trusted
from optctx.facts.origins import _libraries
from tests.support.rows import rows

pytestmark = pytest.mark.usefixtures("attached")


@pytest.fixture(scope="module")
def taken() -> Facts:
    return facts()


@pytest.fixture(scope="module")
def options(taken: Facts) -> dict[str, OptionFacts]:
    return {option.name: option for option in taken.options}


def functions(facts: OptionFacts) -> set[str]:
    assert facts.readers is not None
    return {function.split("(")[0] for function in facts.read_by}


def test_options_of_passes_by_where_their_values_are(options: dict[str, OptionFacts]) -> None:
    facts = options["unroll-count"]  # llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp
    assert (facts.type, facts.storage, facts.trust) == ("uint", "internal", "tuning")
    assert (facts.file, facts.library, facts.default) == ("LoopUnrollPass.cpp", "ScalarOpts", 0)
    assert functions(facts) == {"llvm::computeUnrollCount"}
    assert facts.sum("occurrences")  # UnrollCount.getNumOccurrences() > 0
    assert facts.sum("loads") > facts.sum("occurrences")
    assert not any((facts.sum("stores"), facts.sum("addresses"), facts.scope == "process"))
    facts = options["force-vector-width"]  # cl::location(VectorizerParams::VectorizationFactor)
    assert facts.storage == "external"
    assert "llvm::LoopVectorizeHints::LoopVectorizeHints" in functions(facts)


def test_an_option_that_llvm_copies_once(options: dict[str, OptionFacts]) -> None:
    facts = options["regalloc"]
    assert facts.copied_once
    assert facts.readers is not None
    copies = {reader.function.split("(")[0] for reader in facts.readers if reader.copy}
    assert "llvm::TargetPassConfig::createRegAllocPass" in copies
    assert not options["unroll-count"].copied_once
    assert options["filter-print-funcs"].copied_once


def test_options_that_llvm_writes(options: dict[str, OptionFacts]) -> None:
    assert options["stats"].sum("stores")  # constructed by the function that reads it
    facts = options["max-jump-table-size"]  # TargetLoweringBase.cpp: MaximumJumpTableSize = Val
    assert facts.readers is not None
    writers = {reader.function.split("(")[0] for reader in facts.readers if reader.stores}
    assert writers == {"llvm::TargetLoweringBase::setMaximumJumpTableSize"}
    # EnableFunctionCalls, which AMDGPU's machines set by an address.
    assert options["amdgpu-function-calls"].sum("addresses")
    assert not options["unroll-count"].sum("stores")


def test_callbacks_lists_and_heaps(options: dict[str, OptionFacts]) -> None:
    assert options["opt-bisect-limit"].callback
    assert options["opt-bisect-limit"].scope == "process"
    assert not options["unroll-count"].callback
    assert (options["print-after"].type, options["print-after"].element) == ("list", "string")
    heap = options["track-memory"]
    assert (heap.storage, heap.readers, heap.library) == ("heap", None, UNKNOWN)
    assert not heap.never_read


def test_what_it_says_is_what_the_registry_says(taken: Facts, options: dict[str, OptionFacts]) -> None:
    assert [option.name for option in taken.options] == sorted(registry())
    for name, option in registry().items():
        found = options[name]
        assert (found.type, found.scope, found.storage, found.hidden, found.aliases) == (
            *(option.type, option.scope, option.storage, option.hidden, option.aliases),
        )
        assert (found.default, found.value, list(found.choices)) == (
            *(option.default, option.value, list(option.choices)),
        )
        assert found.reason == re.sub(" at 0x[0-9a-f]+", "", option.reason)
        assert found.alias_of == (option.alias_of or found.alias_of)
        assert set(option.read_by) <= set(found.read_by)
    numbers = {name: choice.number for name, choice in options["x86-asm-syntax"].choices.items()}
    assert numbers == {"att": 0, "intel": 1}


def test_without_readers_all_else_is_the_same(options: dict[str, OptionFacts]) -> None:
    for option in facts(readers=False).options:
        assert option.readers is None
        found = options[option.name]
        names = [name for name in option.__struct_fields__ if name != "readers"]
        assert [getattr(option, name) for name in names] == [getattr(found, name) for name in names]


def test_what_a_stranger_may_set_is_of_the_class_and_between_the_bounds() -> None:
    given = [("unroll-count", "4"), ("unroll-count", "4000000000"), ("cfg-dot-filename-prefix", "x")]
    assert [trusted(*each) for each in given] == [True, False, False]


def test_names_and_flags_are_resolved() -> None:
    assert resolve("-unroll-count") == "unroll-count"
    alias = next(name for name, option in registry().items() if option.alias_of)
    assert resolve(alias) == registry()[alias].alias_of
    assert "-mcpu=native" in advice("-mcpu")


def test_only_tuning_values_that_llvm_takes_and_survives_are_trusted() -> None:
    assert trusted("unroll-count", "4")
    for name, text in (("unroll-count", "x"), ("print-after-all", "true"), ("filter-passes", "gvn")):
        assert not trusted(name, text)


def test_the_sums_are_those_of_the_redirected_instructions(options: dict[str, OptionFacts]) -> None:
    plan = attach().plan
    stores = addresses = loads = 0
    for site in plan.references.sites:
        owner = plan.owners.get(plan.slots[site.region])
        if owner is None:
            continue
        addresses += site.takes_address
        stores += site.writes
        loads += site.reads and not site.takes_address
    scoped = [facts for facts in options.values() if facts.scope != "process"]
    scoped = [facts for facts in scoped if facts.name != "debug" and not facts.alias_of]
    assert sum(facts.sum("addresses") for facts in scoped) == addresses
    assert sum(facts.sum("stores") for facts in scoped) == stores
    assert sum(facts.sum("loads") for facts in scoped) == loads


def test_an_option_that_nothing_reads_has_no_reader(options: dict[str, OptionFacts]) -> None:
    unread = {name for name, option in registry().items() if option.scope == "unread"}
    assert unread
    assert all(options[name].never_read for name in unread)
    assert options["unroll-count"].readers


OWNERS = {
    r"llvm::(SelectionDAG|DAGTypeLegalizer|SelectionDAGBuilder)::": "SelectionDAG",
    r"llvm::Hexagon\w*::": r"Hexagon\w+",
    r"llvm::(LoopUnrollPass|GVNPass|LICMPass|SROAPass)::": "ScalarOpts",
    r"llvm::(AttributorPass|GlobalOptPass|IROutliner)::": "ipo",
}


@pytest.fixture(scope="module")
def functions_of_llvm() -> dict[str, list[Symbol]]:
    """All C++ functions, by what is before the first parenthesis of their names."""
    [named] = attach().image.functions_named([("_ZN", "")])
    found: dict[str, list[Symbol]] = {}
    for symbol in named:
        found.setdefault(demangle(symbol.name).split("(")[0], []).append(symbol)
    return found


@pytest.fixture(scope="module")
def origins() -> Origins:
    return Origins(attach().image)


@rows("pattern", OWNERS)
def test_functions_are_found_in_the_library_that_their_class_is_from(
    pattern: str, functions_of_llvm: dict[str, list[Symbol]], origins: Origins
) -> None:
    """No table of classes is used: the linker's order and local symbols say it."""
    found = [each for name, own in functions_of_llvm.items() if re.match(pattern, name) for each in own]
    assert len(found) > 20
    libraries = [origins.of(symbol, functions=True).library for symbol in found]
    known = [name for name in libraries if name != UNKNOWN]
    right = [name for name in known if re.fullmatch(OWNERS[pattern], name)]
    assert len(known) > 0.95 * len(libraries)
    # What several libraries compile from a header is in one of them.
    assert len(right) > 0.95 * len(known)


def test_the_library_of_a_file_follows_from_its_name_or_from_the_files_beside_it() -> None:
    known = {
        "LoopUnrollPass.cpp": "ScalarOpts",
        "X86ISelLowering.cpp": "X86CodeGen",
        "X86OfALaterRelease.cpp": "X86CodeGen",
        "X86AsmParser.cpp": "X86AsmParser",
        "X86ATTInstPrinter.cpp": "X86Desc",
        "PPCInstPrinter.cpp": "PowerPCDesc",
        "Thumb2InstrInfo.cpp": "ARMCodeGen",
    }
    assert dict(zip(known, _libraries([*known]), strict=True)) == known
    assert _libraries(["GVN.cpp", "OfALaterRelease.cpp", "LICM.cpp"]) == ["ScalarOpts"] * 3
    assert _libraries(["GVN.cpp", "OfALaterRelease.cpp", "APInt.cpp"])[1] == UNKNOWN


def test_nearly_every_option_has_a_library(taken: Facts) -> None:
    static = [facts for facts in taken.options if facts.storage != "heap" and not facts.alias_of]
    unknown = [facts.name for facts in static if facts.library == UNKNOWN]
    assert len(unknown) < len(static) / 100
    assert {facts.library for facts in static if facts.file == "LoopUnrollPass.cpp"} == {"ScalarOpts"}
