"""`python -m evidence tablegen`: the registry as records, read by LLVM's own reader where it is installed."""

from __future__ import annotations

import json
import pathlib
import re
import shutil
import subprocess
from typing import Any

import msgspec
import pytest

from evidence.census.tablegen import as_tablegen
from evidence.main import main
from optctx.facts import OptionFacts, facts
from optctx.lab.lookup import by_library
from tests.support.rows import rows

pytestmark = pytest.mark.long

TABLEGEN = pathlib.Path(__file__).parent / "tablegen"


@pytest.fixture(scope="module")
def options() -> list[OptionFacts]:
    return [option for option in facts(readers=False).options if not option.alias_of]


def test_tablegen_declares_the_fields_that_it_can(options: list[OptionFacts]) -> None:
    text = as_tablegen("ScalarOpts", by_library(options)["ScalarOpts"], "title")
    assert "def ScalarOptsOptions : OptionsStruct;" in text
    assert re.search(r'^defm unroll_count : ValueField<"unroll-count", "unsigned", "0", ".+">;$', text, re.M)
    assert re.search(r'^defm unroll_runtime : BoolField<"unroll-runtime", "false", ".*">;$', text, re.M)
    syntax = as_tablegen("X86Desc", by_library(options)["X86Desc"], "title")
    assert 'EnumField<"x86-asm-syntax", "int", "0", "att,intel", ["0", "1"], ' in syntax
    lists = [option for option in options if option.type == "list"]
    assert all(f"// {o.name}: a list has no field" in as_tablegen("x", [o], "t") for o in lists)


def test_text_that_would_end_a_string_does_not(options: list[OptionFacts]) -> None:
    text = next(option for option in options if option.type == "string")
    nasty = msgspec.structs.replace(text, name="o", default='a"\\\n')
    assert r'"\"a\\\"\\\\\\n\""' in as_tablegen("L", [nasty], "t\nu")


@pytest.mark.skipif(shutil.which("llvm-tblgen") is None, reason="needs llvm-tblgen (Debian: llvm)")
def test_llvm_tblgen_reads_the_records_of_every_library(
    options: list[OptionFacts], tmp_path: pathlib.Path
) -> None:
    assert main(["tablegen", "--output", str(tmp_path)]) == 0
    files = sorted(tmp_path.glob("*Options.td"))
    assert len(files) == len(by_library(options))
    declared: dict[str, Any] = {}
    for file in files:
        command = ["llvm-tblgen", "-I", str(TABLEGEN), "--dump-json", str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        records = json.loads(done.stdout)
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
        (["--output", "/no/folder"], "expected a folder; make it first"),
        (["--library", "ScalarOpt"], "did you mean ScalarOpts?"),
        ([], "one of the arguments --library --output is required"),
    ],
)
def test_words_that_do_not_fit_get_one_clear_error(
    words: list[str], answer: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["tablegen", *words]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert answer in err
