"""Options that cannot be scoped, changed for the whole process while a context is entered, under a gate."""

from __future__ import annotations

import contextlib
import pickle
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from llvmlite import binding
from llvmlite.binding import ffi

from optctx import (
    OptionContext,
    OptionValueError,
    ProcessWideOptionError,
    ScopeError,
    current,
    registry,
)
from optctx._native import read_bytes
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.engine.attach import attach
from tests.support.alone import alone
from tests.support.ir_texts import SCALE, X86
from tests.support.option_values import VALUES
from tests.support.processes import SECONDS, wait_until_asleep
from tests.support.scopes import (
    beside,
    in_threads,
    inside_elsewhere,
    outside,
    unrolled,
    waiting,
)

BISECTED = Job(SCALE, "default<O3>", ("-opt-bisect-limit=5",), triple=X86, emit="ir")


def exclusive(**named: Any) -> OptionContext:
    return OptionContext(process_wide="exclusive", **named)


def state(name: str) -> tuple[object, int]:
    option = registry()[name]
    return option.value, option.occurrences


def test_llvm_does_what_a_fresh_process_does_and_then_what_it_did_before(fresh: FreshProcess) -> None:
    before = compile_job(BISECTED)
    expected = fresh.compile(BISECTED)
    assert expected.ir != before.ir
    assert expected.error is None
    with OptionContext.from_args(BISECTED.options, base="defaults", process_wide="exclusive"):
        assert compile_job(BISECTED).ir == expected.ir
    assert compile_job(BISECTED) == before


# Made when first used, and empty: LLVM's list of ManagedStatics.
MADE_ONCE = {"_ZL10StaticList"}


def llvm_data() -> list[tuple[int, bytes]]:
    """(address, bytes) of everything in the library that can be written."""
    image = attach().image
    spans = []
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, flags = line.split()[:2]
        begin, end = (int(address, 16) for address in addresses.split("-"))
        if "w" in flags and image.contains(begin):
            spans.append((begin, read_bytes(begin, end - begin)))
    return spans


def changed(before: list[tuple[int, bytes]], after: list[tuple[int, bytes]]) -> set[str]:
    image = attach().image
    found = set()
    for (begin, old), (_, new) in zip(before, after, strict=True):
        if old == new:
            continue
        for at in range(0, len(old), 8):
            # Linux may join another mapping to the library's last one.
            if old[at : at + 8] != new[at : at + 8] and image.contains(begin + at):
                found.add(getattr(image.object_at(begin + at), "name", hex(at)))
    return found


def test_all_of_llvms_data_is_as_it_was_to_the_byte() -> None:
    unrolled()  # the first compilation makes objects for good
    tried = set()
    for name, option in registry().items():
        if option.scope != "process":
            continue
        before = llvm_data()
        try:
            context = OptionContext({name: VALUES.get(option.type, "x")}, process_wide="exclusive")
        except ProcessWideOptionError:
            continue
        with contextlib.suppress(ZeroDivisionError), context:
            assert state(name)[1] == 1
            raise ZeroDivisionError  # which changes nothing
        assert changed(before, llvm_data()) <= MADE_ONCE, name
        tried.add(name)
    assert len(tried) == (15 if attach().intercepts else 16)  # `debug` has a scope of its own there
    assert {"opt-bisect-limit", "stats", "time-passes"} <= tried


def test_options_of_both_kinds_go_into_one_context() -> None:
    with exclusive(stats=True, unroll_count=3) as context:
        assert (current()["unroll-count"], registry()["stats"].value) == (3, True)
        with OptionContext(unroll_count=4) as inner:
            assert (inner["unroll-count"], registry()["stats"].value) == (4, True)
    assert registry()["stats"].value is False
    assert pickle.loads(pickle.dumps(context)) == context != OptionContext(unroll_count=3)


def test_it_waits_for_threads_inside_and_they_wait_for_it() -> None:
    order: list[str] = []
    last: list[threading.Thread] = []

    def closer() -> None:
        with exclusive(rng_seed=5):
            order.append("closed")
            wait_until_asleep(last[0].native_id or 0)
            order.append("opened")

    def later() -> None:
        with OptionContext(unroll_count=3):
            order.append("later enters")

    with inside_elsewhere(OptionContext(unroll_count=2)):
        closing = waiting(outside(closer))
        last.append(waiting(outside(later)))
        assert order == []
        assert state("rng-seed") == (0, 0)
    for thread in (closing, *last):
        thread.join(SECONDS)
    assert order == ["closed", "opened", "later enters"]
    assert state("rng-seed") == (0, 0)


@alone
def test_entering_inside_a_call_of_llvmlites_waits_for_no_thread_that_may_need_its_lock() -> None:
    # As a signal handler or a finaliser does. It waited for ever.
    closed, leave = threading.Event(), threading.Event()
    context = OptionContext(unroll_count=3)

    def closer() -> None:
        with OptionContext(rng_seed=5, process_wide="exclusive"):
            closed.set()
            leave.wait(SECONDS)
            binding.create_context().close()

    with beside(closer):
        closed.wait(SECONDS)
        with ffi.lib._lock:
            leave.set()
            with pytest.raises(ScopeError, match="llvmlite's lock"):
                context.__enter__()
    with ffi.lib._lock, context:
        assert unrolled() == 3
    with context:
        assert unrolled() == 3


def test_compilations_outside_any_scope_wait_too() -> None:
    done = threading.Event()

    def work() -> None:
        compile_job(BISECTED)
        done.set()

    with exclusive(rng_seed=5):
        thread = waiting(outside(work))
        assert not done.is_set()
    thread.join(SECONDS)
    assert done.is_set()


def test_threads_with_the_same_set_share() -> None:
    both = threading.Barrier(2, timeout=SECONDS)
    seen: list[object] = []

    def work() -> None:
        with exclusive(rng_seed=9):
            both.wait()
            seen.append(registry()["rng-seed"].value)
            both.wait()

    in_threads([work, work])
    assert seen == [9, 9]
    assert state("rng-seed") == (0, 0)


def test_two_threads_inside_that_both_want_to_close_get_an_error_and_no_deadlock() -> None:
    both = threading.Barrier(2, timeout=SECONDS)
    outcomes: list[str] = []

    def work(seed: int) -> None:
        with OptionContext(unroll_count=seed):
            both.wait()
            try:
                with exclusive(rng_seed=seed):
                    outcomes.append("entered")
            except ScopeError:
                outcomes.append("refused")

    in_threads([partial(work, 1), partial(work, 2)])
    assert sorted(outcomes) == ["entered", "refused"]
    assert state("rng-seed") == (0, 0)


@alone
def test_a_refusal_does_not_name_the_program_that_llvm_parsed_for_before() -> None:
    binding.set_option("another program", "-unroll-count=1")
    words = "LLVM says: for the --rng-seed option: 'abc' value invalid for ulong argument!"
    with pytest.raises(OptionValueError, match=words):
        exclusive(rng_seed="abc").__enter__()
