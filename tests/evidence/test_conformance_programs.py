"""The programs over LLVM's tests, on the project's own sample in their place: each finds a planted fault."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from evidence.census.tablegen import has_field
from evidence.conformance.designs.design import DESIGNS, Design, faults, handed_on, own
from evidence.conformance.job import Job
from evidence.conformance.recorded import removals
from evidence.conformance.usage import fate, uses
from optctx.facts import OptionFacts, Reader, facts
from tests.support.facts_files import OPTION

ROOT = pathlib.Path(__file__).parents[2]
SAMPLE = ("sample", "--tests", "tests/programs")


def run(*program: str, folder: pathlib.Path) -> tuple[int, str]:
    """(exit status, what was printed) of a program that keeps what it needs in a folder."""
    command = [sys.executable, *program, "--cache", str(folder / "cache")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def with_options(*names: str) -> list[str]:
    return [word for name in names for word in ("--option", name)]


# evidence.conformance --record

RECORDED = ("unroll-count", "regalloc", "stats")
# Runs the suite; in it, records do not see the options that are named.
BLIND = """
import sys
from optctx.reads import Log
seen = Log.reads.fget
hidden = set(sys.argv.pop(1).split(","))
Log.reads = property(lambda log: {name: read for name, read in seen(log).items() if name not in hidden})
from evidence.conformance.main import main
raise SystemExit(main(sys.argv[1:]))
"""


def recorded(folder: pathlib.Path, hidden: str) -> tuple[int, dict[str, Any], str]:
    """(exit status, what is said of recording, the text)."""
    report = folder / "report.json"
    given = [*SAMPLE, "--record", "--json", str(report), *with_options(*RECORDED)]
    status, text = run("-c", BLIND, hidden, *given, folder=folder)
    return status, json.loads(report.read_text())["record"], text


@pytest.mark.long
def test_every_sensitive_option_must_be_recorded(tmp_path: pathlib.Path) -> None:
    status, found, text = recorded(tmp_path, "")
    assert (status, found["missing"], found["process"]) == (0, [], 0)
    assert found["pairs"] >= found["options"] >= len(RECORDED) - 1  # stats is refused
    assert f"{found['pairs']} recorded as read" in text
    status, blind, text = recorded(tmp_path, "unroll-count")
    assert status == 1
    assert blind["pairs"] == found["pairs"]
    assert {name for name, _ in blind["missing"]} == {"unroll-count"}
    assert all(where.startswith("sample/") for _, where in blind["missing"])
    assert "unroll-count (sample/" in text


def test_each_option_of_a_job_is_left_out_by_itself() -> None:
    job = Job("opt", "x.ll", options=("-b=1", "--a", "-b=2"))
    without = {name: each.options for name, each in removals(job)}
    assert without == {"a": ("-b=1", "-b=2"), "b": ("--a",)}
    assert [each for _, each in removals(Job("opt", "x.ll", options=("-a",)))] == [Job("opt", "x.ll")]


# evidence.conformance.designs

DESIGNED = ("x86-asm-syntax", "unroll-count", "stats", "regalloc")
# No option is said to be at fault, and whether stock LLVM is stable is not looked at, which takes long.
WITHOUT_FAULTS = """
import sys
from evidence.conformance.designs import main, running
main.faults = lambda *_: {}
running.measure = lambda *_, **__: {}
sys.exit(main.main(sys.argv[1:]))
"""


def designed(folder: pathlib.Path, *program: str) -> tuple[int, list[list[str]], str]:
    """(exit status, rows of the list, what was printed)."""
    listed = folder / "list.tsv"
    status, text = run(*program, *SAMPLE, "--list", str(listed), folder=folder)
    return status, [row.split("\t") for row in listed.read_text().splitlines()[1:]], text


@pytest.mark.long
def test_running_shows_which_options_do_not_arrive(tmp_path: pathlib.Path) -> None:
    """`x86-asm-syntax` is read where a description of assembly is made; `unroll-count` in a pass."""
    chosen = [*with_options(*DESIGNED), "--design", "table", "--design", "library-options"]
    status, rows, text = designed(tmp_path, "-m", "evidence.conformance.designs", *chosen)
    assert status == 0, text
    ends = {(design, at_fault): (fault, end) for design, _, _, _, fault, at_fault, end in rows}
    assert ends["table", "stats"] == ends["library-options", "stats"] == ("process-wide", "not run")
    syntax = [ends[design, "x86-asm-syntax"] for design in ("table", "library-options")]
    assert syntax == [("no context", "differs")] * 2
    assert ends["library-options", "regalloc"] == ("no field", "not run")
    assert not any("unroll-count" in at_fault for *_, at_fault, _ in rows)


@pytest.mark.long
def test_a_difference_that_nothing_explains_is_a_failure(tmp_path: pathlib.Path) -> None:
    chosen = ("--option", "x86-asm-syntax", "--design", "table")
    status, rows, _ = designed(tmp_path, "-c", WITHOUT_FAULTS, *chosen)
    assert (status, [row[-1] for row in rows]) == (1, ["unexplained"])


# evidence.conformance.experiments and .reads


@pytest.mark.long
def test_a_machine_that_is_made_before_its_options_gives_another_output(tmp_path: pathlib.Path) -> None:
    words = ("-m", "evidence.conformance.experiments", "machine-outside", *SAMPLE)
    status, text = run(*words, "--option", "x86-asm-syntax", folder=tmp_path)
    assert status == 0
    rows = [line.split() for line in text.splitlines() if line]
    assert ["1", "another", "output"] in rows
    assert rows[-1] == ["1", "x86-asm-syntax"]


@pytest.mark.long
def test_reads_are_recorded_with_their_stacks(tmp_path: pathlib.Path) -> None:
    report, stacks = tmp_path / "reads.json", tmp_path / "without.md"
    words = ("-m", "evidence.conformance.reads", *SAMPLE, "--limit", "5", "--seed", "3")
    status, text = run(*words, "--json", str(report), "--without", str(stacks), folder=tmp_path)
    assert status == 0
    found = json.loads(report.read_text())
    assert found["totals"]["compilations"] == {"compiled": 5, "failed": 0, "stacks cut": 0}
    assert "5 compilations: " in text
    without = [place for place in found["places"] if place["without"]]
    assert without
    assert all(f"`{place['option']}`" in stacks.read_text() for place in without)
    assert "### llvm::PipelineTuningOptions::PipelineTuningOptions (Passes)" in stacks.read_text()
    assert all(place["example"][0] == place["function"] for place in found["places"])


# What is at fault with an option under a design, and what an option could become

IN_FUNCTION = "llvm::f(llvm::Function&)"
IN_MC = "llvm::g(llvm::MCContext&)"
NOWHERE = "llvm::SomePass::SomePass(bool)"


def option(
    name: str, *readers: str, type: str = "int", scope: str = "thread", alias_of: str = ""
) -> OptionFacts:
    made = tuple(Reader(function, "Passes" if "Builder" in function else "Core", 1) for function in readers)
    changes = {"name": name, "type": type, "scope": scope, "reason": "why", "alias_of": alias_of}
    return OptionFacts(**{**OPTION, **changes, "readers": made})


FACTS = (
    option("a", IN_FUNCTION),
    option("b", IN_FUNCTION, NOWHERE),
    option("c", IN_MC),
    option("d", IN_FUNCTION, type="list"),
    option("e", IN_FUNCTION, scope="process"),
    option("f", NOWHERE, alias_of="b"),
)


def found(design: Design) -> dict[str, str]:
    at_fault = faults(design, FACTS, {"d"}, own(design))
    return {name: fault.kind for name, fault in at_fault.items()}


def test_what_is_at_fault_depends_on_the_design() -> None:
    assert found(DESIGNS["thread"]) == {"e": "process-wide"}
    without = {"b": "no context", "f": "no context", "e": "process-wide"}
    assert found(DESIGNS["table"]) == {**without, "c": "no context"}
    assert found(DESIGNS["library-options"]) == {**without, "d": "no field"}
    assert faults(DESIGNS["table"], FACTS, set(), own(DESIGNS["table"]))["b"].detail == NOWHERE


def test_callers_can_hand_a_context_on(tmp_path: pathlib.Path) -> None:
    """By the worst place of a function; MachineFunctions lead to an LLVMContext, TargetMachines do not."""
    places = [(NOWHERE, {"Module": 3}), (IN_MC, {"MCContext": 0}), (IN_FUNCTION, {"Function": 0})]
    places.append((IN_FUNCTION, {"TargetMachine": 2}))
    reads = tmp_path / "reads.json"
    reads.write_text(json.dumps({"places": [{"function": name, "contexts": has} for name, has in places]}))
    has_one = handed_on(DESIGNS["table"], reads)
    reached = [name for name in (NOWHERE, IN_MC, IN_FUNCTION, "never seen") if has_one(name)]
    assert reached == [NOWHERE, "never seen"]
    assert handed_on(DESIGNS["library-options"], reads)(IN_MC)


def test_types_without_a_field_are_those_that_stay_comments() -> None:
    without = {each.name for each in facts(readers=False).options if not has_field(each)}
    assert {"regalloc", "print-after", "pass-remarks"} <= without
    assert not without & {"unroll-count", "x86-asm-syntax", "inline-threshold"}


def test_what_an_option_could_become_follows_from_its_readers() -> None:
    assert fate(option("a"), 3) == "delete"
    assert fate(option("a", IN_FUNCTION, scope="process"), 3) == "process"
    assert fate(option("a", IN_FUNCTION), 0) == "untested"
    assert fate(option("a", NOWHERE, "llvm::PassBuilder::f()"), 1) == "pass parameter"
    assert fate(option("a", IN_FUNCTION), 1) == "attribute"
    assert fate(option("a", IN_FUNCTION, "llvm::f(llvm::Module&)"), 1) == "module flag"
    assert fate(option("a", IN_FUNCTION, NOWHERE), 1) == "argument"


def test_uses_are_counted_once_for_each_test() -> None:
    texts = [
        "; RUN: opt -a --b=3 < %s | FileCheck %s --check-prefix=X\n; RUN: llc -a -mtriple x\n",
        "; opt -a\n",
        "# RUN: llc -b \\\n# RUN:   -c -3 dir/-d\n",
    ]
    count = uses(texts)
    assert (count["a"], count["b"], count["c"], count["d"]) == (1, 2, 1, 0)
