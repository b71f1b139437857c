"""The tests of LLVM's own that change under a design: what is at fault, and what running them shows."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

from evidence.census.tablegen import has_field
from evidence.conformance.designs.design import DESIGNS, Design, faults, handed_on, own
from evidence.conformance.usage import fate, uses
from optctx.facts import OptionFacts, Reader, facts
from tests.support.facts_files import OPTION

ROOT = pathlib.Path(__file__).parents[2]
OPTIONS = ("x86-asm-syntax", "unroll-count", "debug-only", "regalloc")
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
    assert [has_one(name) for name in (NOWHERE, IN_MC, IN_FUNCTION, "never seen")] == [
        True,
        False,
        False,
        True,
    ]
    assert handed_on(DESIGNS["library-options"], reads)(IN_MC)


def test_types_without_a_field_are_those_that_stay_comments() -> None:
    without = {each.name for each in facts(readers=False).options if not has_field(each)}
    assert {"regalloc", "print-after", "pass-remarks"} <= without
    assert not without & {"unroll-count", "x86-asm-syntax", "inline-threshold"}


# No option is said to be at fault, and whether stock LLVM is stable is not looked at, which takes long.
WITHOUT_FAULTS = """
import sys
from evidence.conformance.designs import main, running
main.faults = lambda *_: {}
running.measure = lambda *_, **__: {}
sys.exit(main.main(sys.argv[1:]))
"""


def run(folder: pathlib.Path, *more: str, program: tuple[str, ...]) -> tuple[int, list[list[str]], str]:
    """(exit status, rows of the list, what was printed)."""
    listed = folder / "list.tsv"
    given = ["--tests", "tests/programs", "--cache", str(folder), "--list", str(listed), *more, "sample"]
    done = subprocess.run([sys.executable, *program, *given], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, [row.split("\t") for row in listed.read_text().splitlines()[1:]], done.stdout


@pytest.mark.redirected
@pytest.mark.long
def test_running_shows_which_options_do_not_arrive(tmp_path: pathlib.Path) -> None:
    """`x86-asm-syntax` is read where a description of assembly is made; `unroll-count` in a pass."""
    chosen = [word for name in OPTIONS for word in ("--option", name)]
    chosen += ["--design", "table", "--design", "library-options"]
    status, rows, text = run(tmp_path, *chosen, program=("-m", "evidence.conformance.designs"))
    assert status == 0, text
    ends = {(design, at_fault): (fault, end) for design, _, _, _, fault, at_fault, end in rows}
    assert ends["table", "debug-only"] == ends["library-options", "debug-only"] == ("process-wide", "not run")
    assert (
        ends["table", "x86-asm-syntax"]
        == ends["library-options", "x86-asm-syntax"]
        == ("no context", "differs")
    )
    assert ends["library-options", "regalloc"] == ("no field", "not run")
    assert not any("unroll-count" in at_fault for *_, at_fault, _ in rows)


@pytest.mark.redirected
@pytest.mark.long
def test_a_difference_that_nothing_explains_is_a_failure(tmp_path: pathlib.Path) -> None:
    chosen = ("--option", "x86-asm-syntax", "--design", "table")
    status, rows, _ = run(tmp_path, *chosen, program=("-c", WITHOUT_FAULTS))
    assert (status, [row[-1] for row in rows]) == (1, ["unexplained"])


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


@pytest.mark.redirected
def test_a_machine_that_is_made_before_its_options_gives_another_output(tmp_path: pathlib.Path) -> None:
    given = ["machine-outside", "sample", "--tests", "tests/programs", "--cache", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "evidence.conformance.experiments", *given, "--option", "x86-asm-syntax"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines() if line]
    assert ["1", "another", "output"] in rows
    assert rows[-1] == ["1", "x86-asm-syntax"]
