"""Loops that leave no memory behind, by what is in use: what is free in a heap hides a leak."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import cache
from typing import Any, NamedTuple, TypeAlias

import pytest
from llvmlite import binding

from optctx import OptionContext, ScopeError, bound, contained, record, unbind
from optctx.compiling import compile_job, initialise_targets
from tests.promises.answers import JOB
from tests.support.alone import alone, alone_with
from tests.support.installed import SANITIZED
from tests.support.processes import printed, use_small_pages
from tests.support.scopes import outside

TURNS = 300  # of a measurement, and before the first one: caches and pools are filled
REPEATS = 10  # of a measurement that finds too much: a leak shows in all of them, a busy machine in a few
Turn: TypeAlias = Callable[[int], object]


@cache
def three(**more: Any) -> OptionContext:
    return OptionContext(unroll_count=3, base="defaults", **more)


def entries(_: int) -> None:
    with three():
        pass


def contexts(number: int) -> None:
    with OptionContext(unroll_count=number, inline_threshold=-number, base="defaults"):
        pass


@cache
def nested() -> OptionContext:
    outer = OptionContext(internalize_public_api_list=["f", "g"], pass_remarks="x", base="defaults")
    return OptionContext(asan_memory_access_callback_prefix="p" * 99, base=outer)


def strings_and_lists(_: int) -> None:
    with nested():
        pass


def threads_that_end_inside(_: int) -> None:
    thread = threading.Thread(target=outside(three().__enter__))
    thread.start()
    thread.join()


@cache
def copy() -> Context:
    return three().run(copy_context)


def copies(_: int) -> None:
    copy().run(binding.get_default_triple)


def sets_inside(number: int) -> None:
    with contained():
        binding.set_option("", f"-asan-memory-access-callback-prefix={'p' * (50 + number % 50)}")


def refusals_inside(_: int) -> None:
    """LLVM prints why, for which it parses once more."""
    with contained():
        assert printed(lambda: binding.set_option("", "-unroll-count=many"))


@cache
def judged() -> OptionContext:
    """Entered, so that it is not judged after each turn."""
    context = three(unread="error")
    return context.__enter__()


def records(_: int) -> None:
    with record(), judged():
        pass


@cache
def own_context() -> Any:
    return binding.create_context()


def bindings(number: int) -> None:
    context = OptionContext({"unroll-count": number % 7})
    context.bind(own_context())
    assert bound(own_context()) is context
    del context
    with suppress(ScopeError):
        OptionContext().bind(own_context())
    unbind(own_context())


LOOPS: list[Turn] = [
    *(entries, contexts, strings_and_lists, copies, refusals_inside, sets_inside, records, bindings),
    threads_that_end_inside,
]


class InUse(NamedTuple):
    """What this process uses, or what a turn leaves of it."""

    heap: float
    """Bytes that were allocated and not freed, of C and C++."""
    objects: float
    """Blocks of Python's own allocator."""
    mapped: float
    """Bytes that no file backs, free or in use."""


M_ARENA_MAX = -8  # of glibc's malloc.h
MOST = InUse(heap=8, objects=0.5, mapped=1024)  # that a turn may leave


class HeapInfo(ctypes.Structure):
    """glibc's `struct mallinfo2`."""

    _fields_ = [(name, ctypes.c_size_t) for name in (
        *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
        *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
    )]  # fmt: skip


def in_use() -> InUse:
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = HeapInfo
    gc.collect()
    libc.malloc_trim(0)
    heap, objects = libc.mallinfo2(), sys.getallocatedblocks()
    with open("/proc/self/smaps_rollup") as file:
        [line] = [line for line in file if line.startswith("Anonymous:")]
    return InUse(heap.uordblks + heap.hblkhd, objects, int(line.split()[1]) * 1024)


def left_by(turn: Turn) -> InUse:
    """What a turn leaves. A leak shows each time, unlike what threads happen to leave in heaps."""
    for number in range(TURNS):
        turn(number)
    for _ in range(REPEATS):
        before = in_use()
        for number in range(TURNS):
            turn(number)
        left = InUse(*((now - was) / TURNS for now, was in zip(in_use(), before, strict=True)))
        if all(each < most for each, most in zip(left, MOST, strict=True)):
            break
    return left


@alone
def test_no_loop_leaves_memory() -> None:
    use_small_pages()
    # A thread that starts while another still ends makes a heap of its own, of which 2 KB count as in use.
    assert ctypes.CDLL(None).mallopt(M_ARENA_MAX, 1) or SANITIZED  # whose allocator takes no settings
    left = {turn.__name__: left_by(turn) for turn in LOOPS}
    too_much = (name for name, each in left.items() if any(a >= b for a, b in zip(each, MOST, strict=True)))
    assert {name: left[name] for name in too_much} == {}


@pytest.mark.long
@alone_with(seconds=600)
def test_a_compilation_inside_a_scope_leaves_no_more_than_without_optctx() -> None:
    """llvmlite 0.50 itself loses 1.5 KB of each."""
    initialise_targets()
    stock = left_by(lambda _: compile_job(JOB))
    scoped = left_by(lambda _: three().run(compile_job, JOB))
    assert scoped.heap - stock.heap < MOST.heap
    assert scoped.objects - stock.objects < MOST.objects
