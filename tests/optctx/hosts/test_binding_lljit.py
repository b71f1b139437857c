"""Modules of bound LLVMContexts in llvmlite's LLJIT, which parses their text into LLVMContexts of its own."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import pytest
from llvmlite import binding

from optctx import ContextMismatchError, OptionContext, bound, unbind
from optctx._native import bound_count
from optctx.engine.attach import attached, detach
from tests.support.runs import machine

PAGE = 4096
ALIGNED = {"align-all-functions": 12}  # the code generator's, as a power of two: each function begins a page
OTHERWISE = {"align-all-functions": 6}


def text(name: str, number: int = 0) -> str:
    """`name`, and a function before it, so that it does not begin a page by itself."""
    before, own = (f"define i32 @{n}() {{ ret i32 {i} }}" for n, i in ((f"{name}_before", 7), (name, number)))
    return f"{before}\n{own}\n"


@pytest.fixture
def jit(attached: None, collected: None, llvm_context: Any) -> Iterator[Any]:
    before = bound_count()
    with binding.create_lljit_compiler(machine(), suppress_errors=True) as made:
        yield made
    gc.collect()
    left = bound_count() - (bound(llvm_context) is not None)
    assert left == before, "a binding outlives what it was for"


def library(*units: Any, names: tuple[str, ...]) -> Any:
    builder = binding.JITLibraryBuilder()
    for unit in units:
        builder.add_ir(unit)
    for name in names:
        builder.export_symbol(name)
    return builder


def aligned(tracker: Any, name: str) -> bool:
    """Whether the function begins a page."""
    return bool(tracker[name] % PAGE == 0)


def test_each_binding_goes_with_its_own_module_and_with_no_other(jit: Any) -> None:
    contexts = {name: binding.create_context() for name in ("bound", "other", "less", "more")}
    for name, options in (("bound", ALIGNED), ("less", OTHERWISE), ("more", ALIGNED)):
        OptionContext(options).bind(contexts[name])
    modules = [binding.parse_assembly(text(name, i), contexts[name]) for i, name in enumerate(contexts)]
    printed = str(modules[0]).replace("@bound", "@printed")
    names = (*contexts, "plain", "printed", "last")
    units = (text("plain", 4), modules[0], *modules[1:], printed, text("last", 6))
    tracker = library(*units, names=names).link(jit, "library")
    assert [name for name in names if aligned(tracker, name)] == ["bound", "more"]
    assert tracker["less"] % 64 == 0 != tracker["other"] % 64
    results = [ctypes.CFUNCTYPE(ctypes.c_int)(tracker[name])() for name in names]
    assert results == [0, 1, 2, 3, 4, 0, 6]
    for each in (*modules, *contexts.values()):
        each.close()


def test_what_is_bound_when_the_module_is_added_counts_whatever_happens_then(jit: Any) -> None:
    llvm_context = binding.create_context()
    OptionContext(ALIGNED).bind(llvm_context)
    module = binding.parse_assembly(text("early"), llvm_context)
    builder = library(module, names=("early",))
    unbind(llvm_context)
    late = library(module, names=("early",))
    module.close()
    llvm_context.close()
    detach()
    assert attached() is None
    assert aligned(builder.link(jit, "early"), "early"), "linking attaches again"
    assert attached() is not None
    assert not aligned(late.link(jit, "late"), "early")


def test_a_mismatch_is_an_error_of_the_call_that_compiles(llvm_context: Any, jit: Any) -> None:
    context = OptionContext(ALIGNED)
    context.bind(llvm_context, on_mismatch="error")
    with binding.parse_assembly(text("checked"), llvm_context) as module:
        builder = library(module, names=("checked",))
        with pytest.raises(ContextMismatchError, match="align-all-functions"):
            builder.link(jit, "wrong")
        with context:
            assert aligned(builder.link(jit, "right"), "checked")
