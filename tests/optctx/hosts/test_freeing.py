"""optctx keeps none of llvmlite's objects alive, and uses none that LLVM has deleted."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptctxError, OptionContext
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED
from tests.support.processes import run_python

pytestmark = pytest.mark.usefixtures("attached", "collected")


@alone
def test_a_module_that_llvm_has_deleted_with_its_llvm_context_is_an_error() -> None:
    with binding.create_context() as llvm_context:
        module = binding.parse_assembly(COUNTED, llvm_context)
    for use in (lambda: optctx.run_passes(module, "default<O1>"), lambda: OptionContext.from_module(module)):
        with pytest.raises(OptctxError, match="the LLVMContext of the module is closed"):
            use()
    module.detach()  # what llvmlite would free again


def bound(llvm_context: Any) -> None:
    """The binding ends when LLVM disposes of the LLVMContext, and shows that."""
    OptionContext().bind(llvm_context)
    assert optctx._native.bound_count() == 1


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


def test_the_global_context_is_never_disposed_of() -> None:
    module = binding.parse_assembly(COUNTED)
    module._context.close()
    optctx.run_passes(module, "default<O1>")
    assert "store volatile" in str(module)


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
