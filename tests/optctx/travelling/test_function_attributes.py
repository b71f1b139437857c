"""`"optctx"="-name=value"` on a function: its own options in function passes.

And in passes of machine functions and subtargets: tests/long/test_effects.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, UntrustedOptionWarning, current
from optctx.errors import OptionValueError
from tests.support.ir_texts import COUNTED, SWITCH
from tests.support.rows import rows
from tests.support.runs import (
    UNROLL,
    counted,
    machine,
    run_function_passes,
    run_module_passes,
    stores_of_each,
)

pytestmark = [pytest.mark.usefixtures("attached", "attributes")]


RUNS = (
    lambda module: optctx.run_passes(module, UNROLL),
    # A function pass with no function pass manager around it, and one after a pass on the call graph.
    lambda module: optctx.run_passes(module, "globalopt,loop-unroll"),
    lambda module: optctx.run_passes(module, "cgscc(function-attrs,function(loop-unroll))"),
    run_module_passes,
    run_function_passes,
)


@rows("run", RUNS)
def test_every_function_sees_its_own_options_on_top_of_the_others(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    text = counted(
        ("two", "-unroll-count=2"),
        ("outside", ""),
        ("none", "-unroll-count=7 -unroll-allow-partial=false -unroll-count=3"),
        ("seven", "--unroll-count 7"),
    )
    with binding.parse_assembly(text, llvm_context) as module:
        run(module)
        assert stores_of_each(module) == {"two": 2, "outside": 1, "none": 3, "seven": 7}
    with OptionContext({"unroll-count": 4}) as scope, binding.parse_assembly(text, llvm_context) as module:
        run(module)
        assert stores_of_each(module) == {"two": 2, "outside": 4, "none": 3, "seven": 7}
        assert current() is scope


def test_the_attribute_comes_on_top_of_what_is_bound_to_the_llvm_context(llvm_context: Any) -> None:
    OptionContext({"unroll-count": 6}).bind(llvm_context)
    text = counted(("two", "-unroll-count=2"), ("bound", ""), ("same", "-slp-threshold=3"))
    with OptionContext({"unroll-count": 4}), binding.parse_assembly(text, llvm_context) as module:
        run_module_passes(module)
        assert stores_of_each(module) == {"two": 2, "bound": 6, "same": 6}


# An option of class tuning, and when LLVM reads it.
FOR_ALL = [
    ("-disable-lsr", "while it makes the pipeline"),
    ("-sink-common-insts", "while it makes the pipeline"),  # in the constructor of a function pass
    ("-inline-call-penalty=3", "in passes over the whole module"),
    ("-trap-unreachable", "when it makes a target machine"),
]


@pytest.mark.llvm22
@rows(("text", "when"), FOR_ALL)
def test_what_no_function_can_have_for_itself_is_refused_by_name(
    text: str, when: str, llvm_context: Any
) -> None:
    optctx.attach(attributes="error")  # after the row before
    name = text[1:].partition("=")[0]
    says = f"nothing has been run.*no function can have '{name}' for itself, because LLVM reads it {when}"
    with binding.parse_assembly(counted(("bad", text)), llvm_context) as module:
        with OptionContext.from_args([text]), pytest.raises(OptionValueError, match=says):
            run_module_passes(module)
        optctx.attach(attributes="warn")
        with pytest.warns(UntrustedOptionWarning, match=f"compiled without.*{when}"):
            optctx.run_passes(module, UNROLL)


@rows("run", RUNS[:-1])  # LLVM has run on the other functions before the last one looks at this one
def test_a_bad_attribute_is_an_error_before_anything_runs(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    text = counted(("good", "-unroll-count=2"), ("bad", "-unroll-count=many"))
    with binding.parse_assembly(text, llvm_context) as module:
        before = str(module)
        with pytest.raises(OptionValueError):
            run(module)
        assert str(module) == before
    with binding.parse_assembly(counted(("good", "-unroll-count=2")), llvm_context) as module:
        run(module)
        assert stores_of_each(module) == {"good": 2}


SMALL = "define i32 @first(ptr %p) { %a = load i32, ptr %p\n ret i32 %a }\n"
# In every target LLVM looks for something that belongs to the module while it works on a function. Lanai and
# PowerPC set `min-jump-table-entries`, in one pass manager for those that run in later ones.
TARGETS = [
    ("x86_64-unknown-linux-gnu", SMALL + COUNTED),
    ("arm64-apple-macosx", SMALL + COUNTED),
    ("nvptx64-nvidia-cuda", SMALL + COUNTED),
    ("wasm32-unknown-unknown", SMALL + COUNTED),
    ("lanai", SWITCH),
    ("powerpc64-unknown-linux-gnu", SWITCH),
]


@rows(("triple", "text"), TARGETS)
def test_an_attribute_that_changes_nothing_leaves_the_code_as_it_is(
    triple: str, text: str, llvm_context: Any
) -> None:
    found = []
    for own in (text, text.replace(") {", ') "optctx"="-slp-threshold=0" {', 1)):
        with (
            binding.parse_assembly(own, llvm_context) as module,
            OptionContext(base="defaults"),
            machine(triple) as target,
        ):
            module.triple, module.data_layout = triple, str(target.target_data)
            found.append(optctx.emit_assembly(module, target))
    assert found[0] == found[1].replace("-slp-threshold=0", "")
