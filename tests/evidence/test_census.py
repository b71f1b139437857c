"""`python -m evidence census` and `tablegen`: what they count and print, and what llvm-tblgen reads."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from evidence.census import command as census_command
from evidence.census.counts import flags, totals
from evidence.census.tablegen import as_tablegen, by_library
from evidence.main import main
from optctx.facts import Facts, OptionFacts, facts
from tests.support.processes import output_of
from tests.support.rows import rows

TABLEGEN = pathlib.Path(__file__).parent / "tablegen"


@pytest.fixture(scope="module")
def taken() -> Iterator[Facts]:
    """The facts, which the command does not take again."""
    found = facts()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(census_command, "facts", lambda: found)
        yield found


@pytest.fixture(scope="module")
def options(taken: Facts) -> list[OptionFacts]:
    return [option for option in taken.options if not option.alias_of]


def test_what_constructors_read(taken: Facts) -> None:
    found = {option.name: flags(option) for option in taken.options}
    assert "read only in constructors" in found["x86-asm-syntax"]  # X86MCAsmInfo.cpp
    assert "read in constructors" in found["forget-scev-loop-unroll"]  # PipelineTuningOptions()
    assert "read in constructors" not in found["inline-threshold"]
    assert "readers not known" in found["track-memory"]


def test_it_prints_a_line_for_each_option_and_totals(taken: Facts, capfd: pytest.CaptureFixture[str]) -> None:
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
def test_tablegen_declares_the_fields_that_it_can(options: list[OptionFacts]) -> None:
    text = as_tablegen("ScalarOpts", by_library(options)["ScalarOpts"], "title")
    assert "def ScalarOptsOptions : OptionsStruct;" in text
    assert re.search(r'^defm unroll_count : ValueField<"unroll-count", "unsigned", "0", ".+">;$', text, re.M)
    assert re.search(r'^defm unroll_runtime : BoolField<"unroll-runtime", "false", ".*">;$', text, re.M)
    syntax = as_tablegen("X86Desc", by_library(options)["X86Desc"], "title")
    assert 'EnumField<"x86-asm-syntax", "int", "0", "att,intel", ["0", "1"], ' in syntax
    lists = [option for option in options if option.type == "list"]
    assert all(f"// {o.name}: a list has no field" in as_tablegen("x", [o], "t") for o in lists)


@pytest.mark.long
def test_text_that_would_end_a_string_does_not(options: list[OptionFacts]) -> None:
    text = next(option for option in options if option.type == "string")
    nasty = msgspec.structs.replace(text, name="o", default='a"\\\n')
    assert r'"\"a\\\"\\\\\\n\""' in as_tablegen("L", [nasty], "t\nu")


@pytest.mark.long
@pytest.mark.skipif(shutil.which("llvm-tblgen") is None, reason="needs llvm-tblgen (Debian: llvm)")
def test_llvm_tblgen_reads_the_records_of_every_library(
    options: list[OptionFacts], tmp_path: pathlib.Path
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
    fieldless = {o.name for o in options if o.type in ("list", "bits", "set", "other")}
    missing = {o.name for o in options} - declared.keys()
    assert missing >= fieldless
    assert all(o.type == "enum" for o in options if o.name in missing - fieldless)
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
    taken: Facts, words: list[str], answer: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert answer in err
