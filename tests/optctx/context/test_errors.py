"""Errors are short, however long the input is, and keep nothing of the caller's from being freed.

Of single calls, tests/optctx/refusals shows the same, and of attributes.
"""

from __future__ import annotations

import os
import traceback
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from llvmlite import binding
from llvmlite.binding import create_context, parse_assembly

import optctx
from optctx import CompileCache, OptctxError, OptionContext, propagating, run_passes
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


def generate() -> Iterator[None]:
    yield


def blank() -> OptionContext:
    return OptionContext(base="defaults")  # attaches, which collecting the tests must not


LONG = "x" * 1_000_000
generate.__qualname__ = LONG
# Quoted by LLVM, in the repr of a context or of another object, or by its name.
LONG_INPUT: dict[str, Callable[[], object]] = {
    "a text": partial(OptionContext, {"unroll-count": LONG}),
    "a list": partial(OptionContext, {"pgo-analysis-map": [LONG]}),
    "a number": partial(OptionContext, {"pgo-analysis-map": 10**20_000}),
    "bytes": partial(OptionContext, {"unroll-count": b"x" * 10**6}),
    "a name": lambda: OptionContext({LONG: 1}),
    "an argument": lambda: OptionContext.from_args([f"-unroll-count={LONG}"]),
    "a type": lambda: blank().get("unroll-count", type(LONG, (), {})),
    "an attribute": lambda: getattr(blank(), LONG),
    "a function": lambda: blank().run(generate),
    "a context": lambda: OptionContext({"print-after": [LONG]}).__exit__(None, None, None),
    "unread": lambda: OptionContext({"print-after": [LONG]}, unread="error").run(int),
    "a mode": lambda: blank().bind(create_context(), on_mismatch=LONG),  # type: ignore[arg-type]
    "an executor": lambda: propagating(LONG),  # type: ignore[arg-type]
    "an open pipeline": lambda: run_passes(parse_assembly("", create_context()), "function(" * 100_000),
    "a module": lambda: CompileCache(os.environ["XDG_CACHE_HOME"]).compile(LONG, "verify"),
}


def test_no_message_is_long_because_the_input_is() -> None:
    wrong = []
    for what, attempt in LONG_INPUT.items():
        with pytest.raises((OptctxError, AttributeError, TypeError)) as raised:
            attempt()
        text = "".join(traceback.format_exception(raised.value))
        size, again = len(str(raised.value)), text.count("x" * 1000)  # in the exceptions that led to it
        if not 20 < size < 3000 or again >= 4:
            wrong.append((what, size, again))
    assert wrong == []
