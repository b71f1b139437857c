"""Scopes and the values of the process: what LLVM sees in them, and changing them past optctx."""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import functools
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar

from llvmlite import binding

from optctx import OptionContext, _native, info, registry
from optctx.compiling import Job, Result, compile_job
from optctx.engine.attach import attach
from tests.support.ir_texts import COUNTED, UNROLL, X86
from tests.support.processes import SECONDS
from tests.support.runs import run_module_passes, stores

P = ParamSpec("P")
R = TypeVar("R")


UNROLLED_ONCE = 1  # what `unrolled()` gives where nobody set `unroll-count`
OUTSIDE = (UNROLLED_ONCE, UNROLLED_ONCE)  # what `both()` gives there


# Whether the interpreter reports switches between tasks, and scopes follow them.
FOLLOWS_TASKS = sys.version_info >= (3, 14)


def unrolled() -> int:
    """How often LLVM unrolls a loop on this thread now: `unroll-count` as LLVM itself sees it."""
    result = compile_job(Job(COUNTED, UNROLL, triple=X86, emit="ir"))
    assert result.error is None
    return (result.ir or "").count("store volatile")


def unrolled_by_llvmlite() -> int:
    """The same through llvmlite alone, as code does that has never heard of optctx."""
    binding.initialize_all_targets()
    with binding.create_context() as context, binding.parse_assembly(COUNTED, context) as module:
        run_module_passes(module)
        return stores(module)


def both() -> tuple[int, int]:
    """What optctx's own way of compiling sees, and what llvmlite's sees."""
    return unrolled(), unrolled_by_llvmlite()


def scoped(job: Job) -> Result:
    """The job compiled on this thread, inside a context of its own options."""
    with OptionContext.from_args(job.options, base="defaults"):
        return compile_job(job)


def mark() -> object:
    """What a context of contextvars has of optctx's scopes."""
    return next(
        (value for variable, value in contextvars.copy_context().items() if variable.name == "optctx"), None
    )


def outside(work: Callable[P, R]) -> Callable[P, R]:
    """For a thread to begin with: outside any scope, also where threads inherit contextvars."""
    copy = contextvars.copy_context()
    for variable in copy:
        if variable.name == "optctx":
            copy.run(variable.set, None)
    return functools.partial(copy.run, work)


def copied_inside(context: OptionContext) -> contextvars.Context:
    """A copy of this code's contextvars, made inside the context."""
    with context:
        return contextvars.copy_context()


@contextlib.contextmanager
def running(follows: bool) -> Iterator[Callable[[contextvars.Context, Callable[[], Any]], Any]]:
    """Run functions in a copy; with and without reports of switches, by hand before Python 3.14."""
    if FOLLOWS_TASKS:
        yield lambda copy, function: copy.run(function)
        return

    def told(function: Callable[[], Any]) -> Any:
        if follows:
            _native.context_switched()
        return function()

    def run(copy: contextvars.Context, function: Callable[[], Any]) -> Any:
        try:
            return copy.run(told, function)
        finally:
            told(lambda: None)

    _native.simulate_context_switches(follows)
    try:
        yield run
    finally:
        _native.simulate_context_switches(False)


@contextlib.contextmanager
def beside(*works: Callable[[], object], seconds: float = SECONDS) -> Iterator[None]:
    """A block beside threads that do these works, all at once and outside any scope.

    It ends when they have ended, and raises what the first of them raised.
    """
    errors: list[BaseException] = []
    ready = threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        try:
            ready.wait(SECONDS)
            work()
        except BaseException as error:  # handed to the thread that waits
            errors.append(error)

    threads = [threading.Thread(target=outside(run), args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for thread in threads:
            thread.join(seconds)
    assert not any(thread.is_alive() for thread in threads), "a thread hangs"
    if errors:
        raise errors[0]


def in_threads(works: Sequence[Callable[[], object]], seconds: float = SECONDS) -> None:
    """Runs all at once, on threads of their own, outside any scope; raises what the first of them raised."""
    with beside(*works, seconds=seconds):
        pass


@contextlib.contextmanager
def meanwhile(*works: Callable[[], object]) -> Iterator[None]:
    """A block beside threads that do these works again and again until it ends; raises as `beside` does."""
    done = threading.Event()

    def repeat(work: Callable[[], object]) -> None:
        while not done.is_set():
            work()

    with beside(*(functools.partial(repeat, work) for work in works)):
        try:
            yield
        finally:
            done.set()


def four(**more: Any) -> OptionContext:
    return OptionContext({"unroll-count": 4}, base="defaults", **more)


def eight() -> OptionContext:
    return OptionContext({"unroll-count": 8}, base="defaults")


def scopes_become(count: int) -> bool:
    """Whether so many scopes are entered soon: a thread leaves its own a little after it was joined."""
    deadline = time.monotonic() + SECONDS
    while (entered := info()["active_scopes"]) != count and time.monotonic() < deadline:
        time.sleep(0.001)
    return bool(entered == count)


def set_option(name: str, text: str | None = None) -> None:
    """Sets an option for the whole process, as users of llvmlite do; None gives it as a flag."""
    binding.set_option("", f"-{name}" if text is None else f"-{name}={text}")


def write(name: str, value: int) -> None:
    """Writes a 32-bit option's variable for the whole process, past LLVM's parsers."""
    ctypes.c_uint.from_address(attach().options[name].place.address).value = value


def reset_all() -> None:
    """What LLVM offers to programs that parse several command lines; nothing in llvmlite calls it."""
    function = attach().image.named("_ZN4llvm2cl25ResetAllOptionOccurrencesEv")
    assert function is not None
    ctypes.CFUNCTYPE(None)(function.address)()


def parse_module() -> None:
    """A call through llvmlite, which raises nothing."""
    with binding.create_context() as context:
        binding.parse_assembly(COUNTED, context).close()


def process_state() -> dict[str, tuple[object, int]]:
    """(value, occurrences) of every option, process-wide."""
    return {name: (each.value, each.occurrences) for name, each in registry().items()}
