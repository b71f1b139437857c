"""Loops that leave no memory behind, measured by what the process holds and not by its peak.

After attaching, a process holds some 60 MB less than it once did: the peak hides the first 60 MB of a leak.
"""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from typing import NamedTuple, TypeAlias

import pytest
from llvmlite import binding

from optctx import OptionContext, ScopeError, bound, contained, record, unbind
from optctx._native import share_storage_from
from optctx.compiling import initialise_targets
from tests.support.processes import run_python
from tests.support.scopes import outside

TURNS = 300  # before the first measurement: caches and pools are filled
MOST = 24  # bytes that a turn may leave
REPEATS = 3  # of a measurement that finds more
Turn: TypeAlias = Callable[[int], object]


def entries() -> Turn:
    context = OptionContext(unroll_count=3)

    def turn(_: int) -> None:
        with context:
            pass

    return turn


def contexts() -> Turn:
    def turn(number: int) -> None:
        with OptionContext(unroll_count=number, inline_threshold=-number, base="defaults"):
            pass

    return turn


def strings_and_lists() -> Turn:
    outer = OptionContext(internalize_public_api_list=["f", "g"], pass_remarks="x", base="defaults")
    inner = OptionContext(asan_memory_access_callback_prefix="p" * 99, base=outer)

    def turn(_: int) -> None:
        with outer, inner:
            pass

    return turn


def process_wide() -> Turn:
    """Of numbers: characters of strings are never freed, because LLVM may have kept an address into them."""
    context = OptionContext(rng_seed=3, process_wide="exclusive")

    def turn(_: int) -> None:
        with context:
            pass

    return turn


def threads_that_end_inside() -> Turn:
    context = OptionContext(unroll_count=3)

    def turn(_: int) -> None:
        thread = threading.Thread(target=outside(context.__enter__))
        thread.start()
        thread.join()

    return turn


def copies() -> Turn:
    with OptionContext(unroll_count=3):
        copy = copy_context()

    def turn(_: int) -> None:
        copy.run(binding.get_default_triple)

    return turn


def sets_inside() -> Turn:
    context = contained()

    def turn(number: int) -> None:
        with context:
            binding.set_option("", f"-asan-memory-access-callback-prefix={'p' * (50 + number % 50)}")

    return turn


def records() -> Turn:
    context = OptionContext({"unroll-count": 3}, base="defaults", unread="error")
    context.__enter__()  # so that it is not judged after each turn

    def turn(_: int) -> None:
        with record(), context:
            pass

    return turn


def bindings() -> Turn:
    llvm_context = binding.create_context()

    def turn(number: int) -> None:
        context = OptionContext({"unroll-count": number % 7})
        context.bind(llvm_context)
        assert bound(llvm_context) is context
        del context
        with suppress(ScopeError):
            OptionContext().bind(llvm_context)
        unbind(llvm_context)

    return turn


def sets_that_llvm_writes() -> Turn:
    initialise_targets()
    texts = ["", "+SPV_KHR_linkonce_odr", "all", "all,-SPV_KHR_linkonce_odr"]
    amd, intel = (binding.Target.from_triple(f"spirv64-{name}") for name in ("amd-amdhsa", "intel-unknown"))

    def turn(number: int) -> None:
        with OptionContext({"spirv-ext": texts[number % 4], "unroll-count": number}) as context:
            amd.create_target_machine().close()
        with context:  # which is as it was
            intel.create_target_machine().close()

    return turn


def deeply_nested() -> Turn:
    """Scopes that share storage, with a set that LLVM may write. So are those of later loops."""
    share_storage_from(0)
    outer = OptionContext({"spirv-ext": "+SPV_KHR_linkonce_odr"}, base="defaults")
    inner = outer.derive({"spirv-ext": "all"})  # a set of a hundred

    def turn(_: int) -> None:
        with outer, inner:
            pass

    return turn


class Loop(NamedTuple):
    make: Callable[[], Turn]
    turns: int
    engines: tuple[str, ...] = ("thread", "exclusive")


# A leak of 48 bytes a turn shows as that in all of them; with fewer turns it hides in what was free before.
LOOPS = (
    Loop(entries, 20_000, ("thread",)),
    Loop(entries, 5_000, ("exclusive",)),
    Loop(contexts, 3_000),
    Loop(strings_and_lists, 3_000),
    Loop(process_wide, 3_000),
    Loop(copies, 3_000),
    Loop(sets_inside, 2_000, ("thread",)),  # by turns LLVM itself keeps the characters; see `process_wide`
    Loop(records, 1_500, ("thread",)),
    Loop(bindings, 3_000, ("thread",)),
    Loop(sets_that_llvm_writes, 1_000),
    Loop(threads_that_end_inside, 4_000, ("thread",)),  # whose memory is the least even
    Loop(deeply_nested, 1_000, ("thread",)),
)


def anonymous() -> int:
    """Bytes of memory that this process holds and no file backs."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/smaps_rollup") as file:
        [line] = [line for line in file if line.startswith("Anonymous:")]
    return int(line.split()[1]) * 1024


def growth(loop: Loop) -> float:
    """Bytes that a turn leaves. A leak shows each time, unlike what threads happen to leave in heaps."""
    turn = loop.make()
    for number in range(TURNS):
        turn(number)
    least = float("inf")
    for _ in range(REPEATS):
        before = anonymous()
        for number in range(loop.turns):
            turn(number)
        least = min(least, (anonymous() - before) / loop.turns)
        if least < MOST:
            break
    return least


def print_growth(engine: str) -> None:
    for loop in LOOPS:
        if engine in loop.engines:
            print(loop.make.__name__, round(growth(loop), 1))


@pytest.mark.parametrize("engine", ["thread", "exclusive"])
def test_no_loop_leaves_memory(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPTCTX_ENGINE", engine)
    told = run_python(
        f"from tests.promises.test_growth import print_growth; print_growth({engine!r})"
    ).splitlines()
    assert len(told) == sum(engine in loop.engines for loop in LOOPS)
    assert [line for line in told if float(line.split()[1]) >= MOST] == []
