"""After an error nothing of ours keeps the caller's module: reference counting alone frees it."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import CompileCache, OptctxError, OptionContext, propagating, record
from tests.support.garbage import left_behind, no_collector
from tests.support.ir_texts import COUNTED
from tests.support.runs import COUNT, UNROLL, WAYS

pytestmark = pytest.mark.usefixtures("attached")

BAD = COUNTED.replace("@count(ptr %out) {", '@count(ptr %out) "optctx"="-unrol-count=x" {')
REFUSED_ASSEMBLY = """
target triple = "x86_64-unknown-linux-gnu"
define void @f() {
  call void asm sideeffect "no such instruction", ""()
  ret void
}
"""

Work = Callable[[Any, Any], object]


def unread(mode: str) -> Work:
    def run(module: Any, llvm_context: Any) -> None:
        with OptionContext({"hexagon-initial-cfg-cleanup": False}, unread=mode):  # type: ignore[arg-type]
            optctx.run_passes(module, UNROLL)

    return run


def mismatched(run: Callable[[Any], object], on_mismatch: str = "error") -> Work:
    def work(module: Any, llvm_context: Any) -> None:
        OptionContext({"unroll-count": COUNT}).bind(llvm_context, on_mismatch)  # type: ignore[arg-type]
        try:
            run(module)
        finally:
            optctx.unbind(llvm_context)

    return work


def only_module(run: Callable[[Any], object]) -> Work:
    return lambda module, _: run(module)


def in_a_pool(module: Any, llvm_context: Any) -> None:
    with propagating(ThreadPoolExecutor(1)) as pool:
        pool.submit(optctx.run_passes, module, "no-such-pass").result()


def while_recording(module: Any, llvm_context: Any) -> None:
    with record():
        optctx.run_passes(module, "no-such-pass")


def a_log_that_lost_reads(module: Any, llvm_context: Any) -> None:
    with record() as log:
        optctx.run_passes(module, UNROLL)
    log._ended, log._problem = None, "there was not enough memory to record everything that LLVM read"
    log.reads  # noqa: B018


def link(module: Any, llvm_context: Any) -> None:
    optctx.stamp(module, OptionContext({"unroll-count": COUNT}))
    OptionContext.from_module(module, trust=())


# Warnings are errors here. Of single calls, tests/optctx/refusals shows the same.
PATHS: dict[str, tuple[Work, str]] = {
    "assembly": (only_module(WAYS["emission"]), REFUSED_ASSEMBLY),
    "wrap": (lambda module, _: optctx.wrap(optctx.run_passes)(module, "no-such-pass"), COUNTED),
    "pool": (in_a_pool, COUNTED),
    "link": (link, COUNTED),
}
REDIRECTED: dict[str, tuple[Work, str]] = {
    **{f"attribute, {name}": (only_module(way), BAD) for name, way in WAYS.items()},
    **{f"mismatch, {name}": (mismatched(way), COUNTED) for name, way in WAYS.items()},
    **{
        f"mismatch, {name}, warning": (mismatched(WAYS[name], "warn"), COUNTED)
        for name in ("passes", "module passes")
    },
    "cache attribute": (lambda module, _: CompileCache(os.environ["XDG_CACHE_HOME"]).compile(module), BAD),
    "unread": (unread("error"), COUNTED),
    "unread, warning": (unread("warn"), COUNTED),
    "recording": (while_recording, COUNTED),
    "log": (a_log_that_lost_reads, COUNTED),
}


def failing(work: Work, text: str) -> list[weakref.ref[Any]]:
    """References to the objects that the work failed with, which its caller has dropped."""
    llvm_context = binding.create_context()
    module = binding.parse_assembly(text, llvm_context)
    references = [weakref.ref(module), weakref.ref(llvm_context)]
    try:
        work(module, llvm_context)
    except (OptctxError, TypeError, Warning):
        return references
    raise AssertionError("the work does not fail")


def test_an_error_leaves_no_cycle_that_holds_the_callers_objects() -> None:
    check_all(PATHS)


@pytest.mark.usefixtures("attributes")
def test_neither_does_one_of_redirected_code() -> None:
    check_all(REDIRECTED)


def check_all(paths: dict[str, tuple[Work, str]]) -> None:
    for work, text in paths.values():
        failing(work, text)  # what is made once and kept
    with no_collector():
        kept = {
            name: alive
            for name, (work, text) in paths.items()
            if (alive := [reference() for reference in failing(work, text) if reference() is not None])
        }
        assert kept == {}
        assert left_behind() == []  # of any of them
