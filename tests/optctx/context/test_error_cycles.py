"""After an error nothing of ours keeps the caller's module: reference counting alone frees it.

Of single calls, tests/optctx/refusals shows the same, and of attributes.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptctxError, OptionContext
from tests.support.garbage import left_behind, no_collector
from tests.support.ir_texts import COUNTED
from tests.support.runs import COUNT, UNROLL, WAYS

pytestmark = pytest.mark.usefixtures("attached")

Work = Callable[[Any, Any], object]


def unread(module: Any, _: Any) -> None:
    with OptionContext({"hexagon-initial-cfg-cleanup": False}, unread="error"):
        optctx.run_passes(module, UNROLL)


def mismatched(run: Callable[[Any], object]) -> Work:
    def work(module: Any, llvm_context: Any) -> None:
        OptionContext({"unroll-count": COUNT}).bind(llvm_context, "error")
        try:
            run(module)
        finally:
            optctx.unbind(llvm_context)

    return work


PATHS = {"unread": unread, **{name: mismatched(way) for name, way in WAYS.items()}}


def failing(work: Work) -> list[weakref.ref[Any]]:
    """References to the objects that the work failed with, which its caller has dropped."""
    llvm_context = binding.create_context()
    module = binding.parse_assembly(COUNTED, llvm_context)
    references = [weakref.ref(module), weakref.ref(llvm_context)]
    try:
        work(module, llvm_context)
    except OptctxError:
        return references
    raise AssertionError("the work does not fail")


def test_an_error_inside_llvm_leaves_no_cycle_that_holds_the_callers_objects() -> None:
    for work in PATHS.values():
        failing(work)  # what is made once and kept
    with no_collector():
        for name, work in PATHS.items():
            assert [reference() for reference in failing(work)] == [None, None], name
        assert left_behind() == []  # of any of them
