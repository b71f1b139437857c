"""Bindings that check instead of switching, lookups by LLVMContext, and what cannot be bound."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext
from optctx._native import MachineUse, read_words
from optctx.arch.x86_64.sites import find_references_to
from optctx.engine.attach import attach
from optctx.engine.host import default_host
from optctx.engine.thread_engine import ThreadEngine
from optctx.errors import (
    ContextMismatchError,
    ContextMismatchWarning,
)
from optctx.hosts.llvmlite import llvmlite_image
from optctx.image.survey import find_functions
from optctx.plan import called, find_entrances
from tests.support import runs
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED, SCALE
from tests.support.library_code import changed_code
from tests.support.rows import rows
from tests.support.runs import (
    COUNT,
    EMISSION,
    RUNS,
    emit_object_by_llvmlite,
    machine,
    stores,
)

pytestmark = [pytest.mark.redirected, pytest.mark.usefixtures("attached")]


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
    optctx.unbind(llvm_context)


def test_emission_and_mcjit_are_stopped_on_mismatch_as_well(llvm_context: Any) -> None:
    context = OptionContext(EMISSION)
    context.bind(llvm_context, on_mismatch="error")
    with machine() as target:
        for emit in (emit_object_by_llvmlite, optctx.emit_object, optctx.emit_assembly):
            with binding.parse_assembly(SCALE, llvm_context) as module:
                before = str(module)
                with pytest.raises(ContextMismatchError, match="pre-RA-sched"):
                    emit(module, target)
                assert str(module) == before
                with context:
                    assert emit(module, target)

    def code(refused: bool, scope: AbstractContextManager[object] = context) -> bytes:
        own = binding.parse_assembly(SCALE, llvm_context)
        with binding.create_mcjit_compiler(own, machine()) as engine:
            if refused:
                with pytest.raises(ContextMismatchError, match="pre-RA-sched"):
                    engine.finalize_object()
            with scope:
                engine.finalize_object()
                return ctypes.string_at(engine.get_function_address("scale"), 64)

    assert code(refused=True) == code(refused=False)  # nothing was made under the other values
    optctx.unbind(llvm_context)
    assert code(refused=False, scope=nullcontext()) != code(refused=False)


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
    assert isinstance(engine, ThreadEngine)
    functions = engine.survey.functions
    targets = called(functions.intercepted)
    tables = [way for way in find_entrances(engine.image, targets) if not way.code]
    assert len(tables) > 300
    assert len(tables) == len(engine.hooks.tables)
    assert all(read_words(way.address, 1) != [way.target] for way in tables)
    own = binding.create_context()
    optctx.OptionContext({"unroll-count": 5}).bind(own)
    with pytest.raises(optctx.ScopeError) as caught:
        optctx.detach()
    assert "bound to 1 LLVMContext" in str(caught.value)
    assert engine.transaction.committed
    optctx.unbind(own)
    optctx.detach()
    assert all(read_words(way.address, 1) == [way.target] for way in tables)
    assert not changed_code()
    optctx.OptionContext({"unroll-count": 5}).bind(own)
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
