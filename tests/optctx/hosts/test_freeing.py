"""LLVM objects that optctx touched are freed in a safe order, whatever order Python drops them in."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext
from tests.optctx.hosts import garbage
from tests.support.alone import end_of
from tests.support.ir_texts import COUNTED
from tests.support.processes import python_process
from tests.support.scopes import in_threads

pytestmark = pytest.mark.usefixtures("attached")
redirected = pytest.mark.redirected

PROGRAMS = [*garbage.SHAPES, "closed_first", "engine_of_contexts"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_that_ends_stock_llvmlite_goes_on(name: str, when: str) -> None:
    """`when`: the objects were made before optctx attached, and used by it, or after."""
    assert alive(name, when)


def test_any_order_of_closing_and_collecting_goes_on() -> None:
    assert alive("any_order", "after")


@pytest.mark.parametrize("seed", [1, 2])
def test_modules_that_an_exception_interrupts_half_made_go_on(seed: int) -> None:
    done = python_process("-m", "tests.optctx.hosts.interrupted_modules", str(seed))
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr


def alive(name: str, when: str) -> bool:
    end = end_of(garbage.main, name=name, when=when)
    return (end.status, end.failed) == (0, "") and end.printed.endswith("alive\n")


def bound(llvm_context: Any) -> None:
    """The binding ends when LLVM disposes of the LLVMContext, and shows that."""
    OptionContext().bind(llvm_context)
    assert optctx._native.bound_count() == 1


@redirected
def test_an_llvm_context_without_modules_is_disposed_of_when_it_is_closed() -> None:
    llvm_context = binding.create_context()
    bound(llvm_context)
    llvm_context.close()
    assert optctx._native.bound_count() == 0


@redirected
def test_a_closed_llvm_context_is_disposed_of_with_its_last_module() -> None:
    llvm_context = binding.create_context()
    bound(llvm_context)
    first, second = (binding.parse_assembly(COUNTED, llvm_context) for _ in range(2))
    llvm_context.close()
    first.close()
    third = second.clone()
    second.close()
    assert optctx._native.bound_count() == 1
    assert "store volatile" in str(third)
    third.close()
    assert optctx._native.bound_count() == 0
    assert llvm_context.closed


@redirected
def test_objects_that_are_only_dropped_are_freed_without_the_collector() -> None:
    gc.collect()
    gc.disable()
    try:
        module = binding.parse_assembly(COUNTED, binding.create_context())
        bound(module._context)
        optctx.run_passes(module, "default<O1>")
        del module
        assert optctx._native.bound_count() == 0
    finally:
        gc.enable()


@redirected
def test_a_module_that_was_linked_into_another_holds_nothing_when_it_is_dropped() -> None:
    with binding.create_context() as llvm_context:
        bound(llvm_context)
        into = binding.parse_assembly("", llvm_context)
        linked = binding.parse_assembly(COUNTED, llvm_context)
        into.link_in(linked)
        into.close()
        del linked
    assert optctx._native.bound_count() == 0


@redirected
def test_an_llvm_context_that_was_given_away_is_not_disposed_of() -> None:
    llvm_context = binding.create_context()
    address = llvm_context._ptr
    module = binding.parse_assembly(COUNTED, llvm_context)
    bound(llvm_context)
    llvm_context.detach()
    module.close()
    del llvm_context, module
    assert optctx._native.bound_count() == 1
    binding.ffi.lib.LLVMPY_ContextDispose(address)
    assert optctx._native.bound_count() == 0


def test_the_global_context_has_no_lifetime() -> None:
    module = binding.parse_assembly(COUNTED)
    assert not [name for name in vars(module) if name.startswith("_optctx")]
    module._context.close()
    assert "store volatile" in str(module)


def test_threads_make_modules_of_one_llvm_context() -> None:
    for _ in range(20):
        llvm_context = binding.create_context()
        modules: list[Any] = []

        def work(made: list[Any] = modules, within: Any = llvm_context) -> None:
            made.append(binding.parse_assembly(COUNTED, within))

        in_threads([work] * 8)
        llvm_context.close()
        assert len({id(vars(module)["_optctx_lifetime"]) for module in modules}) == 1
        while modules:
            assert "store volatile" in str(modules[-1])
            modules.pop().close()
