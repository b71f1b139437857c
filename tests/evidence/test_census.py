"""`python -m evidence census` and `tablegen`: what they count, beside LLVM's sources, and what they print."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from evidence.census import command as census_command
from evidence.census.counts import flags, totals
from evidence.census.origins import UNKNOWN, Origins, _libraries
from evidence.census.readers import Census, CountedOption, take_census
from evidence.census.tablegen import as_tablegen, by_library
from evidence.main import main
from optctx import registry
from optctx._native import Symbol, demangle
from optctx.engine.attach import attach
from tests.support.processes import output_of
from tests.support.rows import rows

TABLEGEN = pathlib.Path(__file__).parent / "tablegen"


@pytest.fixture(scope="module")
def taken() -> Iterator[Census]:
    """The census, which the command does not take again."""
    found = take_census()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(census_command, "take_census", lambda: found)
        yield found


@pytest.fixture(scope="module")
def named(taken: Census) -> dict[str, CountedOption]:
    return {option.facts.name: option for option in taken.options}


@pytest.fixture(scope="module")
def options(taken: Census) -> list[CountedOption]:
    return [option for option in taken.options if not option.facts.alias_of]


def test_what_constructors_read(taken: Census) -> None:
    found = {option.facts.name: flags(option) for option in taken.options}
    assert "read only in constructors" in found["x86-asm-syntax"]  # X86MCAsmInfo.cpp
    assert "read in constructors" in found["forget-scev-loop-unroll"]  # PipelineTuningOptions()
    assert "read in constructors" not in found["inline-threshold"]
    assert "readers not known" in found["track-memory"]


def functions(option: CountedOption) -> set[str]:
    return {function.split("(")[0] for function in option.functions}


def test_options_of_passes_by_where_their_values_are(named: dict[str, CountedOption]) -> None:
    option = named["unroll-count"]  # llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp
    assert (option.library, functions(option)) == ("ScalarOpts", {"llvm::computeUnrollCount"})
    assert option.sum("occurrences")  # UnrollCount.getNumOccurrences() > 0
    assert option.sum("loads") > option.sum("occurrences")
    assert not any((option.sum("stores"), option.sum("addresses"), option.copied_once, option.callback))
    # cl::location(VectorizerParams::VectorizationFactor)
    assert "llvm::LoopVectorizeHints::LoopVectorizeHints" in functions(named["force-vector-width"])
    assert named["opt-bisect-limit"].callback
    assert named["x86-asm-syntax"].numbers == {"att": 0, "intel": 1}
    assert (named["track-memory"].readers, named["track-memory"].library) == (None, UNKNOWN)  # on the heap


def test_options_that_llvm_copies_once_or_writes(named: dict[str, CountedOption]) -> None:
    option = named["regalloc"]
    copies = {reader.function.split("(")[0] for reader in option.readers or () if reader.copy}
    assert "llvm::TargetPassConfig::createRegAllocPass" in copies
    assert option.copied_once
    assert named["filter-print-funcs"].copied_once
    assert named["stats"].sum("stores")  # constructed by the function that reads it
    option = named["max-jump-table-size"]  # TargetLoweringBase.cpp: MaximumJumpTableSize = Val
    writers = {reader.function.split("(")[0] for reader in option.readers or () if reader.stores}
    assert writers == {"llvm::TargetLoweringBase::setMaximumJumpTableSize"}
    # EnableFunctionCalls, which AMDGPU's machines set by an address.
    assert named["amdgpu-function-calls"].sum("addresses")


def test_the_sums_are_those_of_the_redirected_instructions(options: list[CountedOption]) -> None:
    plan = attach().plan
    stores = addresses = loads = 0
    for site in plan.references.sites:
        owner = plan.owners.get(plan.slots[site.region])
        if owner is None:
            continue
        addresses += site.takes_address
        stores += site.writes
        loads += site.reads and not site.takes_address
    scoped = [each for each in options if each.facts.scope != "process" and each.facts.name != "debug"]
    assert sum(each.sum("addresses") for each in scoped) == addresses
    assert sum(each.sum("stores") for each in scoped) == stores
    assert sum(each.sum("loads") for each in scoped) == loads


def test_the_readers_that_the_registry_names_are_among_these(named: dict[str, CountedOption]) -> None:
    for name, option in registry().items():
        assert set(option.read_by) <= named[name].functions
        assert option.scope != "unread" or named[name].readers == ()


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
    libraries = [origins.library_of(symbol, functions=True) for symbol in found]
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


def test_nearly_every_option_has_a_library(options: list[CountedOption]) -> None:
    static = [option for option in options if option.facts.storage != "heap"]
    unknown = [option.facts.name for option in static if option.library == UNKNOWN]
    assert len(unknown) < len(static) / 100


def test_it_prints_a_line_for_each_option_and_totals(
    taken: Census, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["census", "--options", "unroll-*"]) == 0
    table = capfd.readouterr().out
    assert re.search(
        r"^unroll-count +uint +internal +ScalarOpts +1 .* occurrences queried$", table, re.MULTILINE
    )
    assert "x86-asm-syntax" not in table
    assert main(["census", "--totals"]) == 0
    printed = capfd.readouterr().out
    assert all(
        re.search(rf"^  {flag} +{count}$", printed, re.M) for flag, count in totals(taken)["flags"].items()
    )


@pytest.mark.long
def test_tablegen_declares_the_fields_that_it_can(options: list[CountedOption]) -> None:
    text = as_tablegen("ScalarOpts", by_library(options)["ScalarOpts"], "title")
    assert "def ScalarOptsOptions : OptionsStruct;" in text
    assert re.search(r'^defm unroll_count : ValueField<"unroll-count", "unsigned", "0", ".+">;$', text, re.M)
    assert re.search(r'^defm unroll_runtime : BoolField<"unroll-runtime", "false", ".*">;$', text, re.M)
    syntax = as_tablegen("X86Desc", by_library(options)["X86Desc"], "title")
    assert 'EnumField<"x86-asm-syntax", "int", "0", "att,intel", ["0", "1"], ' in syntax
    lists = [option for option in options if option.facts.type == "list"]
    assert all(f"// {o.facts.name}: a list has no field" in as_tablegen("x", [o], "t") for o in lists)


@pytest.mark.long
def test_text_that_would_end_a_string_does_not(options: list[CountedOption]) -> None:
    text = next(option for option in options if option.facts.type == "string")
    nasty = replace(text, facts=msgspec.structs.replace(text.facts, name="o", default='a"\\\n'))
    assert r'"\"a\\\"\\\\\\n\""' in as_tablegen("L", [nasty], "t\nu")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("llvm-tblgen") is None, reason="needs llvm-tblgen (Debian: llvm)")
def test_llvm_tblgen_reads_the_records_of_every_library(
    options: list[CountedOption], tmp_path: pathlib.Path
) -> None:
    assert main(["tablegen", "--output", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*Options.td"))
    assert len(files) == len(by_library(options))
    declared: dict[str, Any] = {}
    for file in files:
        records = json.loads(output_of("llvm-tblgen", "-I", TABLEGEN, "--dump-json", file))
        [struct] = records["!instanceof"]["OptionsStruct"]
        assert struct == file.stem
        declared |= {records[name]["Spelling"]: records[name] for name in records["!instanceof"]["Member"]}
    fieldless = {o.facts.name for o in options if o.facts.type in ("list", "bits", "set", "other")}
    missing = {o.facts.name for o in options} - declared.keys()
    assert missing >= fieldless
    assert all(o.facts.type == "enum" for o in options if o.facts.name in missing - fieldless)
    record = declared["unroll-count"]
    assert (record["Type"], record["Default"], record["Member"]) == ("unsigned", "0", "unroll_count")


@rows(
    ("words", "answer"),
    [
        (["census", "--options", "unrol-count"], "no option matches"),
        (["tablegen", "--output", "/no/folder"], "expected a folder; make it first"),
    ],
)
def test_words_that_do_not_fit_get_one_clear_error(
    taken: Census, words: list[str], answer: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert answer in err
