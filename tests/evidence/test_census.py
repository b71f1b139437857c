"""`python -m evidence census`: what it counts, beside LLVM's sources, and what it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from evidence.__main__ import main
from evidence.census import command as census_command
from evidence.census.counts import flags, totals
from evidence.census.readers import Census, CountedOption, take_census
from optctx import registry
from optctx.engine.attach import attach


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


def functions(option: CountedOption) -> set[str]:
    return {function.split("(")[0] for function in option.functions}


def test_options_by_where_their_values_are(named: dict[str, CountedOption]) -> None:
    option = named["unroll-count"]  # llvm/lib/Transforms/Scalar/LoopUnrollPass.cpp
    assert functions(option) == {"llvm::computeUnrollCount"}
    assert option.sum("occurrences")  # UnrollCount.getNumOccurrences() > 0
    assert option.sum("loads") > option.sum("occurrences")
    assert not any((option.sum("stores"), option.sum("addresses"), option.copied_once, option.callback))
    # cl::location(VectorizerParams::VectorizationFactor)
    assert "llvm::LoopVectorizeHints::LoopVectorizeHints" in functions(named["force-vector-width"])
    assert named["opt-bisect-limit"].callback
    assert named["track-memory"].readers is None  # on the heap
    assert "readers not known" in flags(named["track-memory"])
    assert "read only in constructors" in flags(named["x86-asm-syntax"])  # X86MCAsmInfo.cpp
    assert "read in constructors" in flags(named["forget-scev-loop-unroll"])  # PipelineTuningOptions()
    assert "read in constructors" not in flags(named["inline-threshold"])


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


def test_the_sums_are_those_of_the_redirected_instructions(taken: Census) -> None:
    plan = attach().plan
    stores = addresses = loads = 0
    for site in plan.references.sites:
        owner = plan.owners.get(plan.slots[site.region])
        if owner is None:
            continue
        addresses += site.takes_address
        stores += site.writes
        loads += site.reads and not site.takes_address
    options = [each for each in taken.options if not each.facts.alias_of]
    scoped = [each for each in options if each.facts.scope != "process" and each.facts.name != "debug"]
    assert sum(each.sum("addresses") for each in scoped) == addresses
    assert sum(each.sum("stores") for each in scoped) == stores
    assert sum(each.sum("loads") for each in scoped) == loads


def test_the_readers_that_the_registry_names_are_among_these(named: dict[str, CountedOption]) -> None:
    for name, option in registry().items():
        assert set(option.read_by) <= named[name].functions
        assert option.scope != "unread" or named[name].readers == ()


def test_it_prints_a_line_for_each_option_and_totals(
    taken: Census, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["census", "--options", "unroll-*"]) == 0
    table = capfd.readouterr().out
    assert re.search(r"^unroll-count +uint +internal +1 .* occurrences queried$", table, re.MULTILINE)
    assert "x86-asm-syntax" not in table
    assert main(["census", "--totals"]) == 0
    printed = capfd.readouterr().out
    assert all(
        re.search(rf"^  {flag} +{count}$", printed, re.M) for flag, count in totals(taken)["flags"].items()
    )
