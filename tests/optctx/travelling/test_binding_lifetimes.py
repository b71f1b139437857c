"""Bindings and LLVMContexts that come and go, in pools of threads and for objects that are kept."""

from __future__ import annotations

import ctypes
import gc
import pathlib
import queue
import random
import threading
import weakref
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, bound, unbind
from tests.support.endless import LIST, endless, reached
from tests.support.ir_texts import COUNTED
from tests.support.runs import (
    COUNT,
    UNROLL,
    run_module_passes,
    stores,
)
from tests.support.scopes import in_threads

pytestmark = [pytest.mark.redirected, pytest.mark.usefixtures("attached")]


def test_a_binding_ends_with_its_llvm_context_and_another_at_the_same_address_is_unbound() -> None:
    context = OptionContext({"unroll-count": COUNT})
    addresses: list[int | None] = []
    for _ in range(10_000):  # until malloc gives an address again
        with binding.create_context() as made:
            addresses.append(ctypes.cast(made._ptr, ctypes.c_void_p).value)
            assert bound(made) is None
            context.bind(made)
            assert bound(made) is context
            if again := addresses[-1] in addresses[:-1]:
                with binding.parse_assembly(COUNTED, made) as module:
                    run_module_passes(module)
                    assert stores(module) == COUNT
                break
    assert again, "this shows nothing"
    assert optctx._native.bound_count() == 0


def test_a_binding_keeps_its_context_alive_and_lets_go_of_it(llvm_context: Any) -> None:
    context = OptionContext({"unroll-count": COUNT})
    alive = weakref.ref(context)
    context.bind(llvm_context)
    del context
    gc.collect()
    assert alive() is bound(llvm_context) is not None
    unbind(llvm_context)
    gc.collect()
    assert alive() is None


def test_modules_and_llvm_contexts_come_and_go_in_any_order_on_any_thread() -> None:
    """As in a concurrent JIT: made here, compiled there, dropped by whoever comes to it."""
    contexts = {count: OptionContext({"unroll-count": count}) for count in (1, 2, 3, 5, 8)}
    dice = random.Random(1)
    ready: queue.Queue[tuple[int, Any, Any] | None] = queue.Queue()
    compiled: queue.Queue[tuple[Any, Any] | None] = queue.Queue()
    right = []

    def make() -> None:
        for _ in range(200):
            count = dice.choice(list(contexts))
            own = binding.create_context()
            contexts[count].bind(own)
            ready.put((count, own, binding.parse_assembly(COUNTED, own)))
        ready.put(None)
        ready.put(None)

    def compile_them() -> None:
        while (work := ready.get()) is not None:
            count, own, module = work
            run_module_passes(module)
            right.append(stores(module) == count)
            compiled.put((own, module))
        compiled.put(None)

    def drop() -> None:
        kept: list[tuple[Any, Any]] = []
        endings = 0
        while endings < 2:
            done = compiled.get()
            endings += done is None
            kept += [done] if done is not None else []
            while len(kept) > 10 or (endings == 2 and kept):
                own, module = kept.pop(dice.randrange(len(kept)))
                module.close()
                own.close()

    before = optctx._native.bound_count()
    in_threads([make, compile_them, compile_them, drop])
    assert right == [True] * 200
    assert optctx._native.bound_count() == before


def test_a_run_keeps_its_binding_if_another_thread_ends_it(llvm_context: Any, tmp_path: pathlib.Path) -> None:
    pipe = endless(tmp_path)
    OptionContext({LIST: pipe, "unroll-count": COUNT}).bind(llvm_context)
    with binding.parse_assembly(COUNTED, llvm_context) as module:
        thread = threading.Thread(target=optctx.run_passes, args=(module, f"function(chr),{UNROLL}"))
        thread.start()
        with reached(pipe):
            unbind(llvm_context)
            assert bound(llvm_context) is None
        thread.join()
        assert stores(module) == COUNT
