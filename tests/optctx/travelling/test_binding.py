"""Contexts that travel with an LLVMContext: every way to have LLVM work on it, checks, lifetimes."""

from __future__ import annotations

import ctypes
import pathlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, bound, current, lookup, unbind
from optctx._native import MachineUse, Subject, bound_count, interceptors, pack_interception
from optctx.arch.x86_64.sites import find_references_to
from optctx.compiling import FreshProcess, Job
from optctx.engine.attach import attach
from optctx.engine.host import default_host
from optctx.errors import ContextMismatchError, ContextMismatchWarning
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.facts.interceptions import Work
from optctx.image.survey import find_functions
from optctx.plan.ways_in import called, find_entrances
from tests.support import runs
from tests.support.alone import alone
from tests.support.endless import LIST, endless, reached
from tests.support.garbage import no_collector
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.library_code import changed_code, read_words
from tests.support.native_interface import NativeScope
from tests.support.rows import rows
from tests.support.runs import COUNT, EMISSION, RUNS, UNROLL, machine, stores
from tests.support.scopes import beside, in_threads, unrolled

pytestmark = [pytest.mark.usefixtures("attached", "collected")]


@rows("run", RUNS)
def test_a_bound_module_sees_its_context_on_every_thread_whatever_scope_that_is_in(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    def work() -> None:
        with binding.parse_assembly(COUNTED, own) as module:
            run(module)
            assert stores(module) == COUNT

    for own in (llvm_context, binding.context.get_global_context()):
        assert lookup("unroll-count", llvm_context=own) == 0
        OptionContext({"unroll-count": COUNT}).bind(own)
        work()
        in_threads([work])
        assert unrolled() == 1  # modules of other LLVMContexts, on the same thread
        with OptionContext({"unroll-count": 2}) as scope:
            work()
            assert current() is scope
            assert (unrolled(), lookup("unroll-count", int)) == (2, 2)
            assert lookup("unroll-count", int, llvm_context=own) == COUNT
        unbind(own)


@rows(
    ("emit", "kind"),
    [
        (lambda module, target: str(target.emit_assembly(module)).encode(), "assembly"),
        (optctx.emit_object, "object"),
    ],
)
def test_emission_sees_the_bound_context_as_a_fresh_process_does(
    fresh: FreshProcess, emit: Callable[[Any, Any], bytes], kind: Any
) -> None:
    """Also if that needs another machine than the one that it is given."""
    values = {**EMISSION, "x86-asm-syntax": "intel", "trap-unreachable": True}
    context = OptionContext(values, base="defaults")
    text = SCALE + "define void @never() { unreachable }"
    job = Job(text, passes="module(verify)", triple=X86, emit=kind)
    plain, expected = (fresh.compile(replace(job, options=tuple(args))) for args in ((), context.args()))
    assert expected.error is None
    assert plain.code != expected.code
    with machine() as target:
        for is_bound in (False, True, False):
            with binding.create_context() as own, binding.parse_assembly(text, own) as module:
                if is_bound:
                    context.bind(own)
                module.triple, module.data_layout = X86, str(target.target_data)
                assert emit(module, target) == (expected if is_bound else plain).code


@rows("run", RUNS)
def test_an_error_on_mismatch_comes_before_any_pass_and_names_the_difference(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    context = OptionContext({"unroll-count": COUNT})
    context.bind(llvm_context, on_mismatch="error")
    with binding.parse_assembly(COUNTED, llvm_context) as module:
        before = str(module)
        with pytest.raises(ContextMismatchError, match=r"'unroll-count' \(5 there, 0 here\)") as outside:
            run(module)
        assert repr(context) in str(outside.value)
        with OptionContext({"unroll-count": 2}), pytest.raises(ContextMismatchError, match="2 here"):
            run(module)
        assert str(module) == before
        with OptionContext({"unroll-count": str(COUNT)}):  # another context of the same values
            run(module)
        assert stores(module) == COUNT
    with binding.parse_assembly(COUNTED, llvm_context) as module:
        with NativeScope({"unroll-count": "2"}), pytest.raises(ContextMismatchError, match="2 here"):
            run(module)
        with NativeScope({"unroll-count": str(COUNT)}):  # a scope of C++ code
            run(module)
        assert stores(module) == COUNT
    optctx.unbind(llvm_context)


def test_mcjit_is_stopped_on_mismatch_as_well(llvm_context: Any) -> None:
    context = OptionContext(EMISSION)
    context.bind(llvm_context, on_mismatch="error")

    def code(refused: bool) -> bytes:
        own = binding.parse_assembly(SCALE, llvm_context)
        with binding.create_mcjit_compiler(own, machine()) as engine:
            if refused:
                with pytest.raises(ContextMismatchError, match="pre-RA-sched"):
                    engine.finalize_object()
            with context:
                engine.finalize_object()
                return ctypes.string_at(engine.get_function_address("scale"), 64)

    assert code(refused=True) == code(refused=False)  # nothing was made under the other values
    optctx.unbind(llvm_context)


@rows("run", RUNS)
def test_a_warning_on_mismatch_leaves_the_run_under_the_scope_of_the_thread(
    llvm_context: Any, run: Callable[[Any], None]
) -> None:
    OptionContext({"unroll-count": COUNT}).bind(llvm_context, on_mismatch="warn")
    with binding.parse_assembly(COUNTED, llvm_context) as module, OptionContext({"unroll-count": 2}):
        with pytest.warns(ContextMismatchWarning, match=r"5 there, 2 here") as caught:
            run(module)
        assert stores(module) == 2
    [warning] = caught
    assert warning.filename == runs.__file__
    optctx.unbind(llvm_context)


@alone
def test_detaching_is_refused_while_a_context_is_bound_and_puts_every_table_back() -> None:
    engine = attach()
    targets = called(engine.survey.functions.intercepted)
    tables = [way for way in find_entrances(engine.image, targets) if not way.code]
    assert len(tables) == len(engine.hooks.tables) > 300
    assert all(read_words(way.address, 1) != [way.target] for way in tables)
    own = binding.create_context()
    OptionContext({"unroll-count": 5}).bind(own)
    with pytest.raises(optctx.ScopeError, match="bound to 1 LLVMContext"):
        optctx.detach()
    assert engine.transaction.committed
    optctx.unbind(own)
    optctx.detach()
    assert all(read_words(way.address, 1) == [way.target] for way in tables)
    assert not changed_code()
    OptionContext({"unroll-count": 5}).bind(own)
    assert engine.transaction.committed
    assert engine.hooks.tables.committed


@alone
def test_no_way_into_an_intercepted_function_is_left_open() -> None:
    """Besides direct calls and tables, nothing in the code takes the address of one."""
    image = llvmlite_image()
    functions = find_functions(image, default_host().interceptions())
    targets = called(functions.intercepted)
    assert not functions.unavailable
    assert len(find_entrances(image, targets)) > 400
    found = find_references_to(image, [], sorted((address, 1) for address in targets)).accesses
    # The destructor of the global LLVMContext is handed to the C++ runtime, to be called at exit.
    # Virtual functions are compared with what a table holds, and called through the table if that is another
    # one (speculative devirtualisation).
    through_tables = (MachineUse.work, MachineUse.emit, MachineUse.lowering)
    virtual = {
        address
        for address, row in functions.intercepted.items()
        if row.handler in through_tables or row.for_attributes
    }
    others = [image.function_at(address) for address, _ in found if address not in virtual]
    names = {function and function.name for function in others}
    assert names <= {"_ZN4llvm11LLVMContextD1Ev", "_ZN4llvm11LLVMContextD2Ev"}, names


def test_calls_in_the_function_that_another_is_part_of_are_its_own() -> None:
    """Compilers put short functions into their callers, which then call what those consist of."""
    engine = attach()
    parts = {at: row for at, row in engine.survey.functions.intercepted.items() if row.part_of is not None}
    wholes = {row.part_of.names[0][0] for row in parts.values() if row.part_of is not None}
    changed = {address for address, _, _ in engine.hooks.calls}
    calls = [way for way in find_entrances(engine.image, called(parts)) if way.code]
    own = [engine.image.function_at(way.address) for way in calls if way.address not in changed]
    assert {function.name.replace("D2Ev", "D1Ev") for function in own if function is not None} == wholes


def test_a_binding_ends_with_the_contents_of_its_llvm_context(llvm_context: Any) -> None:
    """As where compilers put the destructor of LLVMContext into its callers."""
    engine = attach()
    OptionContext({"unroll-count": COUNT}).bind(llvm_context)
    [contents] = read_words(ctypes.cast(llvm_context._ptr, ctypes.c_void_p).value or 0, 1)
    before, _, _ = interceptors()
    call = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p)(before)
    entry = pack_interception(engine.index, 0, Work(Subject.contents_that_end))
    for ends, left in ((contents + 8, 1), (contents, 0)):
        assert call(entry, (ctypes.c_uint64 * 8)(ends)) == 0
        assert bound_count() == left


def test_a_binding_ends_with_its_llvm_context_and_another_at_the_same_address_is_unbound() -> None:
    """Also where its objects are only dropped, which frees them without the collector."""
    context = OptionContext({"unroll-count": COUNT})
    addresses: list[int | None] = []
    with no_collector():
        while len(addresses) == len(set(addresses)):  # until malloc gives an address again
            module = binding.parse_assembly(COUNTED, binding.create_context())
            addresses.append(ctypes.cast(module._context._ptr, ctypes.c_void_p).value)
            assert bound(module._context) is None
            context.bind(module._context)
            assert bound(module._context) is context
            optctx.run_passes(module, "default<O1>")
            del module
            assert bound_count() == 0


def test_a_run_keeps_its_binding_if_another_thread_ends_it(llvm_context: Any, tmp_path: pathlib.Path) -> None:
    pipe = endless(tmp_path)
    OptionContext({LIST: pipe, "unroll-count": COUNT}).bind(llvm_context)
    with binding.parse_assembly(COUNTED, llvm_context) as module:
        with beside(lambda: optctx.run_passes(module, f"function(chr),{UNROLL}")), reached(pipe):
            unbind(llvm_context)
            assert bound(llvm_context) is None
        assert stores(module) == COUNT
