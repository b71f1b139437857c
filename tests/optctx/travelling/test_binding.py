"""Contexts that travel with an LLVMContext: every way in which LLVM is made to work on a module of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, current, lookup, unbind
from optctx.compiling import FreshProcess, Job
from tests.support.ir_texts import CALLS, COUNTED, SCALE, X86
from tests.support.rows import rows
from tests.support.runs import (
    COUNT,
    EMISSION,
    RUNS,
    emit_object_by_llvmlite,
    machine,
    stores,
)
from tests.support.scopes import in_threads, unrolled

pytestmark = [pytest.mark.redirected, pytest.mark.usefixtures("attached")]


@rows("run", RUNS)
def test_a_bound_module_sees_its_context_on_every_thread_whatever_scope_that_is_in(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    def work() -> None:
        with binding.parse_assembly(COUNTED, bound) as module:
            run(module)
            assert stores(module) == COUNT

    for bound in (llvm_context, binding.context.get_global_context()):
        assert lookup("unroll-count", llvm_context=bound) == 0
        OptionContext({"unroll-count": COUNT}).bind(bound)
        work()
        in_threads([work])
        assert unrolled() == 1  # modules of other LLVMContexts, on the same thread
        with OptionContext({"unroll-count": 2}) as scope:
            work()
            assert current() is scope
            assert (unrolled(), lookup("unroll-count", int)) == (2, 2)
            assert lookup("unroll-count", int, llvm_context=bound) == COUNT
        unbind(bound)


# A loop that is tested at its top, which the pass on loops moves to its bottom unless the options forbid it.
TESTED_FIRST = """
define void @fill(ptr %out, i64 %n) {
entry:
  br label %header
header:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %to = getelementptr i64, ptr %out, i64 %i
  store i64 %i, ptr %to
  %next = add i64 %i, 1
  br label %header
done:
  ret void
}
"""


NESTED = {
    "function(loop(loop-rotate))": (TESTED_FIRST, {"rotation-max-header-size": 0}),
    "cgscc(inline)": (CALLS, {"inline-threshold": 0}),
    "cgscc(function(loop-unroll))": (COUNTED, {"unroll-count": COUNT}),
    "default<O3>": (SCALE, {"force-vector-width": 2, "unroll-count": 3}),
}


@rows("passes", NESTED)
def test_pass_managers_inside_others_see_the_bound_context(fresh: FreshProcess, passes: str) -> None:
    text, options = NESTED[passes]
    context = OptionContext(options, base="defaults")
    job = Job(text, passes, triple=X86, emit="ir")
    expected = fresh.compile(replace(job, options=tuple(context.args())))
    assert expected.error is None
    assert fresh.compile(job).ir != expected.ir
    with (
        binding.create_context() as llvm_context,
        binding.parse_assembly(text, llvm_context) as module,
        machine() as target,
    ):
        context.bind(llvm_context)
        module.triple, module.data_layout = X86, str(target.target_data)
        optctx.run_passes(module, passes, target_machine=target)
        assert str(module) == expected.ir


@rows(
    ("emit", "kind"),
    [
        (lambda module, target: str(target.emit_assembly(module)).encode(), "assembly"),
        (emit_object_by_llvmlite, "object"),
        (lambda module, target: optctx.emit_assembly(module, target).encode(), "assembly"),
        (optctx.emit_object, "object"),
    ],
)
def test_emission_sees_the_bound_context_as_a_fresh_process_does(
    fresh: FreshProcess, emit: Callable[[Any, Any], bytes], kind: Any
) -> None:
    """Also if that needs another machine than the one that it is given."""
    context = OptionContext(
        {**EMISSION, "x86-asm-syntax": "intel", "trap-unreachable": True}, base="defaults"
    )
    text = SCALE + "define void @never() { unreachable }"
    job = Job(text, passes="module(verify)", triple=X86, emit=kind)
    plain, expected = (fresh.compile(replace(job, options=tuple(args))) for args in ((), context.args()))
    assert expected.error is None
    assert plain.code != expected.code
    with machine() as target:
        for bound in (False, True, False):
            with binding.create_context() as own, binding.parse_assembly(text, own) as module:
                if bound:
                    context.bind(own)
                module.triple, module.data_layout = X86, str(target.target_data)
                assert emit(module, target) == (expected if bound else plain).code
