"""Work that exceptions interrupt at each instruction of optctx's own Python code."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import random
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from llvmlite import binding
from llvmlite.binding import ffi

import optctx
from optctx import OptionContext, _native, contained, emit_object, propagating, record, run_passes, watch
from optctx.compiling import initialise_targets
from optctx.engine import attach as attaching
from tests.support.each_instruction import instructions, interrupt_at, stop
from tests.support.library_code import LLVMLITE
from tests.support.scopes import eight, four, mark

Work = Callable[[], object]

# Of whose code an exception may interrupt any instruction.
PLACES = (os.path.dirname(optctx.__file__) + os.sep,)
SMALL = "define i32 @f(i32 %x) { %y = add i32 %x, 1 ret i32 %y }"


# State


def is_free(lock: Any) -> bool:
    """Whether another thread could take it."""
    got: list[bool] = []

    def take() -> None:
        got.append(lock.acquire(blocking=False))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=take)
    thread.start()
    thread.join()
    return got[0]


def state() -> dict[str, object]:
    """What must be the same before and after."""
    held: dict[str, object] = {**_native.held()}
    held["mark"] = mark()
    held["watchers"] = len(_native.watchers(LLVMLITE))
    held["llvmlite's lock"] = is_free(ffi.lib._lock._lock)
    held["attaching"] = is_free(attaching._lock)
    held["changed options"] = sorted(set(optctx.drift()) - {"unroll-count"})
    return held


# At each instruction


def leftovers(work: Work, most: int = sys.maxsize) -> list[str]:
    """What differs after an interrupt at each instruction, or at `most` of them, spread over all."""
    work()
    before = state()
    found = []
    chosen: Sequence[int] = range(1, instructions(work, PLACES) + 1)
    if len(chosen) > most:
        chosen = sorted({*random.Random(3).sample(chosen, most), *chosen[-most // 4 :]})
    for number in chosen:
        interrupt_at(work, number, PLACES)
        after = state()
        if after != before:
            differs = {name: after[name] for name in after if after[name] != before[name]}
            found.append(f"{number}: {differs}")
            before = after
    work()
    return found


# Work


@functools.cache
def works() -> dict[str, Work]:
    """Work by name. Attaches."""
    initialise_targets()
    context, other = four(), eight()
    warns, fails = four(unread="warn"), four(unread="error")
    llvm_context = binding.create_context()
    module = binding.parse_assembly(SMALL, llvm_context)
    shared = binding.parse_assembly(SMALL)
    machine = binding.Target.from_default_triple().create_target_machine()
    decorated = context(int)
    wrapped = context.run(lambda: optctx.wrap(int))
    warnings.simplefilter("ignore")

    def inside(own: OptionContext) -> Work:
        def work() -> None:
            with own:
                pass

        return work

    def nested() -> None:
        with context, other, context:
            pass

    def generators() -> None:
        def step(own: OptionContext) -> Any:
            with own:
                yield

        ends = step(context)
        next(ends)
        next(ends, None)
        next(step(other))  # is freed, and closed

    def recorded() -> None:
        with record() as log, record():
            pass
        assert log.names == frozenset()

    def unread_fails() -> None:
        with contextlib.suppress(optctx.UnreadOptionError):
            inside(fails)()

    def compiled() -> None:
        with context:
            run_passes(module, "function(instcombine)", target_machine=machine)

    def refused() -> None:
        with contextlib.suppress(optctx.PassPipelineError):
            run_passes(module, "no-such-pass")

    def bound() -> None:
        if optctx.bound(llvm_context) is not None:
            optctx.unbind(llvm_context)
        context.bind(llvm_context)
        run_passes(module, "function(instcombine)")
        optctx.unbind(llvm_context)

    def bound_and_released() -> None:
        try:
            bound()
        finally:
            if _native.held()["bindings"]:
                stop()
                optctx.unbind(llvm_context)

    def set_inside() -> None:
        with contained():
            binding.set_option("", "-unroll-max-count=4")
            binding.set_option("", "-inline-threshold=3")

    numbers = itertools.count(1)

    def watched() -> None:
        with watch(lambda event: None):
            binding.set_option("", f"-unroll-count={next(numbers)}")

    def propagated() -> None:
        with context, ThreadPoolExecutor(1) as pool:
            propagating(pool).submit(int).result()

    return {
        "empty": inside(context),
        "nested": nested,
        "generators": generators,
        "run": lambda: context.run(int),
        "decorated": decorated,
        "wrapped": wrapped,
        "propagated": propagated,
        "recorded": recorded,
        "unread warns": inside(warns),
        "unread fails": unread_fails,
        "compiled": compiled,
        "compiled in the global context": functools.partial(run_passes, shared, "function(instcombine)"),
        "emitted": lambda: emit_object(module.clone(), machine),
        "refused": refused,
        "bound": bound_and_released,
        "watched": watched,
        "set inside": set_inside,
    }
