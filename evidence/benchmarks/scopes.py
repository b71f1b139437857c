"""What a scope and a context cost. Baselines: nullcontext(), a lock and a context without overrides."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
import time
import timeit
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import copy_context

from llvmlite.binding import ffi, set_option

from evidence.benchmarks._module import module_text
from evidence.benchmarks._report import Report, fresh_output, spread
from optctx import OptionContext, contained
from optctx.compiling import Job, compile_job
from optctx.engine.attach import attach
from optctx.tasks.scopes import library_calls

_REPEATS = 15
_SCOPE_LOOPS = 100_000
_CALL_LOOPS = 20_000
_ALIVE = 10_000
_BATCH = 500
_SETS_MADE = 500
_SCOPE_LIMIT = 1.0  # microseconds
_SET_LIMIT = 50.0  # microseconds
_TIME_LIMIT = 100.0  # microseconds
_MEMORY_LIMIT = 40.0  # KB of 1,000 bytes

# Every value is new, so nothing that was made before can be used again.

_OPTIONS = (
    ("unroll-count", int),
    ("inline-threshold", int),
    ("memdep-block-scan-limit", int),
    ("licm-max-num-uses-traversed", int),
    ("chr-bias-threshold", float),
)


def main() -> int:
    report = Report("Scopes and contexts")
    _scopes(report)
    # In a process of its own: memory that the scopes gave back would hide what the contexts take.
    _contexts(report, json.loads(fresh_output("from evidence.benchmarks import scopes; scopes.measure()")))
    return report.end()


def _scopes(report: Report) -> None:
    plain, five = OptionContext(), OptionContext(_values(4))
    print("\nenter and exit, microseconds")
    report.line("with nullcontext() made before (baseline)", _with(contextlib.nullcontext()))
    report.line("with a threading.Lock (baseline)", _with(threading.Lock()))
    report.line("with a context without overrides", _with(plain))
    medians = [_enter_exit(five) for _ in range(_REPEATS)]
    report.line("with a context of five overrides", spread(medians).text())
    with plain:
        report.line("the same, nested in another scope", _with(five))
    report.target("enter and exit, median", spread(medians).median, _SCOPE_LIMIT, " us")
    with five:
        compile_job(Job(module_text(), "default<O3>"))
    report.line("the same, after a compilation in it", _with(five))
    _calls(report, five)
    _sets(report)


def _calls(report: Report, context: OptionContext) -> None:
    """What llvmlite's calls pay for being brought in line with their task."""
    callbacks = library_calls(attach())
    print("\nthe shortest call through llvmlite, microseconds")
    ffi.unregister_lock_callback(*callbacks)
    report.line("without optctx's callbacks (baseline)", _call())
    ffi.register_lock_callback(*callbacks)
    report.line("outside any scope", _call())
    with context:
        report.line("in a scope", _call())
        copied = copy_context()
    report.line("in a copy of a scope that was left", copied.run(_call))


def _sets(report: Report) -> None:
    """What a command line costs that is parsed inside a scope, and ends with it."""
    print("\nllvmlite's set_option, microseconds")
    report.line("outside any scope (baseline)", spread([_set() for _ in range(_SETS_MADE)]).text())
    first, second = [], []
    for _ in range(_SETS_MADE):
        with contained():
            first.append(_set())
            second.append(_set())
    report.line("the first in a scope", spread(first).text())
    report.line("the second", spread(second).text())
    report.target("a parse inside a scope, median", spread(first).median, _SET_LIMIT, " us")


def _set() -> float:
    start = time.perf_counter()
    set_option("", "-inline-threshold=225")
    return (time.perf_counter() - start) * 1e6


def _call() -> str:
    loop = timeit.Timer("call()", globals={"call": ffi.lib.LLVMPY_GetGlobalContext})
    return spread([loop.timeit(_CALL_LOOPS) / _CALL_LOOPS * 1e6 for _ in range(_REPEATS)]).text()


def _with(context: AbstractContextManager[object]) -> str:
    return spread([_enter_exit(context) for _ in range(_REPEATS)]).text()


def _enter_exit(context: AbstractContextManager[object]) -> float:
    """Microseconds for one round."""
    loop = timeit.Timer("with context: pass", globals={"context": context})
    return loop.timeit(_SCOPE_LOOPS) / _SCOPE_LOOPS * 1e6


def _contexts(report: Report, found: dict[str, list[float]]) -> None:
    print(
        f"\n{_ALIVE:,} contexts of five overrides alive at once; microseconds each, over batches of {_BATCH}"
    )
    report.line("a context without overrides (baseline)", spread(found["empty"]).text(1, 2))
    report.line("made from cold", spread(found["cold"]).text(1, 2))
    report.line("entered and left for the first time", spread(found["entered"]).text(1, 2))
    made, entered, inside = found["kb"]
    report.line("memory, made (RSS)", f"{made:.2f} KB each")
    report.line("memory, entered once as well (RSS)", f"{entered:.2f} KB each")
    report.line("memory, all of them inside one another (RSS)", f"{inside:.2f} KB each")
    report.target("made from cold, median", spread(found["cold"]).median, _TIME_LIMIT, " us")
    report.target("memory, made", made, _MEMORY_LIMIT, " KB")
    report.target("memory, entered once", entered, _MEMORY_LIMIT, " KB")


def measure() -> None:
    """Prints the figures of contexts; for a process of its own."""
    OptionContext(_values(1))  # attaches
    alive: list[OptionContext] = []
    values = [_values(1000 + n) for n in range(_ALIVE)]
    empty = _batches(lambda n: alive.append(OptionContext()))
    alive.clear()
    before = _rss()
    cold = _batches(lambda n: alive.append(OptionContext(values[n])))
    sizes = [_rss()]
    entered = _batches(lambda n: _enter(alive[n]))
    sizes.append(_rss())
    with contextlib.ExitStack() as stack:
        for context in alive:
            stack.enter_context(context)
        sizes.append(_rss())
    kb = [(size - before) / _ALIVE / 1e3 for size in sizes]
    print(json.dumps({"empty": empty, "cold": cold, "entered": entered, "kb": kb}))


def _values(n: int) -> dict[str, object]:
    """New ones for each `n`, so that nothing that was made before can be used again."""
    return {option: kind(n) for option, kind in _OPTIONS}


def _enter(context: OptionContext) -> None:
    with context:
        pass


def _batches(step: Callable[[int], object]) -> list[float]:
    """Microseconds for one step, batch by batch, `_ALIVE` steps in all."""
    found = []
    for first in range(0, _ALIVE, _BATCH):
        start = time.perf_counter()
        for n in range(first, first + _BATCH):
            step(n)
        found.append((time.perf_counter() - start) / _BATCH * 1e6)
    return found


def _rss() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    sys.exit(main())
