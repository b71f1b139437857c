"""optctx keeps none of llvmlite's objects alive, and uses none that LLVM has deleted."""

from __future__ import annotations

import gc

import pytest
from llvmlite import binding
from llvmlite.binding import ffi

import optctx
from optctx import OptionContext
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED

pytestmark = pytest.mark.usefixtures("attached", "collected")


def test_objects_that_are_only_dropped_are_freed_without_the_collector() -> None:
    """The binding ends when LLVM disposes of the LLVMContext, and shows that."""
    gc.disable()
    try:
        module = binding.parse_assembly(COUNTED, binding.create_context())
        OptionContext().bind(module._context)
        assert optctx._native.bound_count() == 1
        optctx.run_passes(module, "default<O1>")
        del module
        assert optctx._native.bound_count() == 0
    finally:
        gc.enable()


@alone
def test_attaching_again_drops_nothing_that_another_thread_may_be_in() -> None:
    """ctypes calls a function's `errcheck` without a reference to it."""

    def checks() -> list[object]:
        return [ffi.lib._fntab[name]._cfn.errcheck for name in sorted(ffi.lib._fntab)]

    optctx.attach()
    before = checks()
    assert len({id(each) for each in before}) > 1
    for _ in range(3):
        optctx.detach()
        optctx.attach()
        assert all(now is was for now, was in zip(checks(), before, strict=True))
