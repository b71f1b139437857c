"""What is at fault with an option under a design, and what an option could become."""

from __future__ import annotations

import json
import pathlib

from evidence.census.tablegen import has_field
from evidence.conformance.designs.design import DESIGNS, Design, faults, handed_on, own
from evidence.conformance.usage import fate, uses
from optctx.facts import OptionFacts, Reader, facts
from tests.support.facts_files import OPTION

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
