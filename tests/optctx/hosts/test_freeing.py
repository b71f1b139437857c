"""LLVM objects that optctx touched are freed in a safe order, whatever order Python drops them in."""

from __future__ import annotations

import gc
import sys
import warnings
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptctxError, OptionContext
from tests.optctx.hosts import garbage
from tests.support.alone import alone, end_of
from tests.support.interrupts import is_in_llvmlite, signals
from tests.support.ir_texts import COUNTED
from tests.support.processes import run_python
from tests.support.scopes import in_threads

pytestmark = pytest.mark.usefixtures("attached", "collected")


@pytest.mark.parametrize("when", ["before", "after"])
def test_programs_that_end_stock_llvmlite_go_on(when: str) -> None:
    """`when`: the objects were made before optctx attached, and used by it, or after."""
    end = end_of(garbage.main, when=when)
    assert (end.status, end.failed, end.printed[-6:]) == (0, "", "alive\n"), end.printed[-200:]


@alone
def test_a_module_that_llvm_has_deleted_with_its_llvm_context_is_an_error() -> None:
    with binding.create_context() as llvm_context:
        module = binding.parse_assembly(COUNTED, llvm_context)
    for use in (lambda: optctx.run_passes(module, "default<O1>"), lambda: OptionContext.from_module(module)):
        with pytest.raises(OptctxError, match="the LLVMContext of the module was closed"):
            use()
    module.detach()  # what llvmlite would free again


@alone
def test_modules_that_an_exception_interrupts_half_made_go_on() -> None:
    """Stock llvmlite (without the import of optctx) ends with a segmentation fault.

    If an exception arrives between the making of a module and the `with` statement that would close it, the
    LLVMContext is closed first.
    """
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None  # llvmlite's objects complain when they were interrupted half-made
    optctx.attach()

    def work() -> None:
        with (
            binding.create_context() as context,
            binding.parse_assembly("define void @f() { ret void }", context),
        ):
            pass

    signals(work, 300, 4e-4, postponed=is_in_llvmlite)


def bound(llvm_context: Any) -> None:
    """The binding ends when LLVM disposes of the LLVMContext, and shows that."""
    OptionContext().bind(llvm_context)
    assert optctx._native.bound_count() == 1


def test_a_closed_llvm_context_is_disposed_of_with_its_last_module_or_at_once() -> None:
    with binding.create_context() as empty:
        bound(empty)
    assert optctx._native.bound_count() == 0
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


def test_a_module_that_was_linked_into_another_holds_nothing_when_it_is_dropped() -> None:
    with binding.create_context() as llvm_context:
        bound(llvm_context)
        into = binding.parse_assembly("", llvm_context)
        linked = binding.parse_assembly(COUNTED, llvm_context)
        into.link_in(linked)
        into.close()
        del linked
    assert optctx._native.bound_count() == 0


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
    for _ in range(10):
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


@alone
def test_attaching_again_drops_nothing_that_another_thread_may_be_in() -> None:
    """ctypes calls a function's `errcheck` without a reference to it."""
    from llvmlite.binding import ffi

    def checks() -> list[object]:
        return [ffi.lib._fntab[name]._cfn.errcheck for name in sorted(ffi.lib._fntab)]

    optctx.attach()
    before = checks()
    assert len({id(each) for each in before}) > 1
    for _ in range(3):
        optctx.detach()
        optctx.attach()
        assert all(now is was for now, was in zip(checks(), before, strict=True))


def test_a_finaliser_calls_llvmlite_as_before_when_python_ends_and_nothing_can_be_imported() -> None:
    printed = run_python("""
        import sys
        from llvmlite import binding
        import optctx

        optctx.registry()

        class Late:
            def __del__(self, sys=sys, binding=binding):
                assert sys.meta_path is None
                with binding.create_context() as llvm_context:
                    module = binding.parse_assembly("define void @f() { ret void }", llvm_context)
                    print([function.name for function in module.functions])
                    module.close()

        late = Late()
        late.itself = late
    """)
    assert printed == "['f']\n"
