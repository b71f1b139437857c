"""`lower`: a module gives without options what it gave with them; what it cannot say stays an option."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from inspect import getfile
from typing import NamedTuple

import pytest
from llvmlite import binding

from optctx import (
    OptctxError,
    OptionContext,
    lower,
    lowering,
    registry,
    stamp,
    travelling,
)
from optctx.compiling import FreshProcess, Job, Result
from optctx.engine.attach import attach
from optctx.lowering import EQUIVALENTS, NOT_EXACT
from optctx.travelling import write_module_flag
from tests.support.alone import alone
from tests.support.each_instruction import interrupt_at
from tests.support.ir_texts import X86
from tests.support.links_modules import context_of
from tests.support.lowering_modules import ALLOCA, BRANCHES, KERNEL, STACK
from tests.support.scopes import in_threads

HSA = "amdgcn-amd-amdhsa"


class Case(NamedTuple):
    """A compilation that an option changes. `other`: a value that the module can have for it already."""

    option: str
    value: object
    ir: str
    other: object = None
    triple: str = HSA
    cpu: str = "gfx90a"
    passes: str = "verify"
    more: tuple[str, ...] = ()

    def job(self, ir: str, options: tuple[str, ...]) -> Job:
        job = Job(ir, self.passes, (*self.more, *options), self.triple, self.cpu, emit="assembly")
        return job if self.passes == "verify" else replace(job, emit="ir")


_PRIORITY = "amdgpu-set-wave-priority-valu-insts-threshold"
CASES = (
    Case("x86-speculative-load-hardening", True, BRANCHES, None, X86, ""),
    Case("inline-max-stacksize", 100, STACK, 8, X86, "", "cgscc(inline)"),
    Case("amdhsa-code-object-version", 4, KERNEL, 5),
    Case("amdgpu-hard-clause-length-limit", 2, KERNEL, 3, cpu="gfx1100"),
    Case("amdgpu-expert-scheduling-mode", True, KERNEL, cpu="gfx1200"),
    Case("amdgpu-promote-alloca-to-vector-max-regs", 2, ALLOCA, 64),
    Case("amdgpu-promote-alloca-to-vector-vgpr-ratio", 128, ALLOCA, 1),
    Case(_PRIORITY, 3, KERNEL, 90, more=("-amdgpu-set-wave-priority",)),
)


def lowered(ir: str, context: OptionContext, triple: str) -> tuple[str, OptionContext]:
    with binding.create_context() as llvm_context, binding.parse_assembly(ir, llvm_context) as module:
        module.triple = triple
        rest = lower(context, module)
        module.verify()
        return str(module), rest


def instructions(result: Result) -> str:
    """The output, without what only shows that a function has attributes."""
    assert result.error is None, result.error
    text = result.code.decode() or result.ir or ""
    lines = (re.sub(r" #\d+\b", "", line) for line in text.splitlines())
    code = (line for line in lines if not line.startswith(("attributes", "; Function Attrs")))
    return "\n".join(code).strip()


@pytest.mark.llvm22
def test_without_options_lowered_modules_give_what_they_gave_under_them() -> None:
    with FreshProcess() as fresh:

        def check(case: Case) -> None:
            def output(ir: str, *options: str) -> str:
                return instructions(fresh.compile(case.job(ir, options)))

            context = context_of({case.option: case.value})
            under = output(case.ir, *context.args())
            assert under != output(case.ir), case.option
            text, rest = lowered(case.ir, context, case.triple)
            assert rest == context_of({}), case.option
            assert output(text) == under, case.option
            if case.other is None:
                return
            said, _ = lowered(case.ir, context_of({case.option: case.other}), case.triple)
            both = output(said, *context.args())
            text, _ = lowered(said, context, case.triple)
            assert output(text) == both, case.option
            assert both == (output(said) if EQUIVALENTS[case.option].wins == "module" else under), case.option

        in_threads([partial(check, case) for case in CASES])


def test_what_stays_is_a_context_and_named_on_demand() -> None:
    class Named(OptionContext):
        pass

    base = Named({"inline-max-stacksize": 7, "slp-threshold": 3}, base="defaults")
    context = base.derive(unroll_count=4, inline_max_stacksize=9)
    before = context.args()
    with binding.create_context() as llvm_context, binding.parse_assembly(STACK, llvm_context) as module:
        untouched = str(module)
        with pytest.raises(OptctxError) as raised:
            lower(context, module, strict=True)
        assert "'slp-threshold' (nothing in a module says the same)" in str(raised.value)
        assert f"'unroll-count' ({NOT_EXACT['unroll-count']})" in str(raised.value)
        assert str(module) == untouched
        rest = lower(context, module)
        assert (type(rest), rest.args(), context.args()) == (type(context), rest.args(), before)
        assert rest == context_of({"slp-threshold": 3, "unroll-count": 4})
        assert str(module).count('"inline-max-stacksize"="9"') == 1
        assert lower(rest, module) is rest


def test_what_a_module_cannot_say_stays() -> None:
    hardening = {"x86-speculative-load-hardening": True}
    number = '{f "amdgpu-max-memory-clause"="0x10"}'
    cases = (
        (
            hardening,
            BRANCHES,
            "aarch64-linux-gnu",
            "x86_64 and i386 and i686 alone, and the module's triple is",
        ),
        ({"inline-max-stacksize": 1 << 31}, STACK, X86, "at most 2,147,483,647, and it is 2,147,483,648"),
        ({"amdgpu-max-memory-clause": 3}, f"define void @f() {number[2:-1]} {{ ret void }}", HSA, "'0x10'"),
    )
    for options, ir, triple, words in cases:
        context = context_of(options)
        with binding.create_context() as llvm_context, binding.parse_assembly(ir, llvm_context) as module:
            module.triple = triple
            before = str(module)
            assert lower(context, module) is context
            assert str(module) == before
            with pytest.raises(OptctxError, match=words):
                lower(context, module, strict=True)


@pytest.mark.parametrize("step", [11, pytest.param(1, marks=pytest.mark.long)])
def test_an_interrupt_leaves_the_module_as_it_was_or_with_all_that_is_written(step: int) -> None:
    """At each `step`th instruction; the same for what else optctx writes into modules."""
    context = context_of(
        {"inline-max-stacksize": 9, "x86-speculative-load-hardening": True, "amdhsa-code-object-version": 4}
    )
    places = tuple(os.path.dirname(getfile(folder)) for folder in (lowering, travelling))
    with binding.create_context() as llvm_context, binding.parse_assembly(STACK, llvm_context) as module:
        module.triple = X86
        stamp(module, context_of({"unroll-count": 4}))
        write_module_flag(module, "one", "1")
        write_module_flag(module, "two", "2")

        def interrupted(write: Callable[[binding.ModuleRef], object], number: int) -> tuple[str, int]:
            with module.clone() as copy:
                reached = interrupt_at(partial(write, copy), number, places)
                return str(copy), reached

        for write in (
            partial(lower, context),
            lambda module: stamp(module, context),
            lambda module: write_module_flag(module, "one", "3"),
        ):
            whole, last = interrupted(write, sys.maxsize)
            found = {interrupted(write, number)[0] for number in (*range(1, last, step), last)}
            assert found == {str(module), whole}


@alone
def test_an_option_that_is_set_for_the_whole_process_stays() -> None:
    binding.set_option("", "-inline-max-stacksize=5")
    context = OptionContext(inline_max_stacksize=9)
    with binding.create_context() as llvm_context, binding.parse_assembly(STACK, llvm_context) as module:
        assert lower(context, module) is context
        with pytest.raises(OptctxError, match="set for the whole process"):
            lower(context, module, strict=True)


@pytest.mark.llvm22
@pytest.mark.redirected  # else no reader is known
def test_the_rows_are_options_that_only_the_code_generator_of_their_pass_reads() -> None:
    """A row is right for the functions that read its option today. Another reader has to be looked at."""
    readers = {name: len(attach().options[name].readers) for name in EQUIVALENTS}
    several = {"amdhsa-code-object-version": 3, "profile-sample-accurate": 4}
    assert readers == dict.fromkeys(EQUIVALENTS, 1) | several
    assert NOT_EXACT.keys() <= registry().keys()
    assert not NOT_EXACT.keys() & EQUIVALENTS.keys()
