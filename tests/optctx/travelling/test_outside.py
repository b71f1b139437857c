"""Compilations outside every scope: named, refused, or kept to the registered values."""

from __future__ import annotations

import os
import pathlib
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext, OutsideScopeError, OutsideScopeWarning, ScopeError, current, lookup
from optctx.compiling import Job, compile_job, initialise_targets
from optctx.errors import ContextMismatchError, OptionTypeError
from optctx.travelling.attaching import Outside
from optctx.travelling.attributes import attributes_policy
from tests.support import runs
from tests.support.alone import alone
from tests.support.garbage import no_collector
from tests.support.ir_texts import CALLS, COUNTED, UNROLL, X86, counted
from tests.support.processes import in_child
from tests.support.rows import rows
from tests.support.runs import COUNT, machine, run_module_passes
from tests.support.scopes import four, in_threads, set_option, unrolled, unrolled_by_llvmlite

pytestmark = [pytest.mark.usefixtures("attached")]

FILE = __file__


@pytest.fixture(autouse=True)
def allowed() -> Iterator[None]:
    yield
    optctx.attach(outside="allow")


def mcjit(work: Callable[[Any], object], module: Any) -> None:
    with binding.create_mcjit_compiler(module, machine()) as engine:
        work(engine)


WAYS: dict[str, Callable[[Any], object]] = {
    **runs.WAYS,
    "emission of assembly": lambda module: optctx.emit_assembly(module, machine()),
    "MCJIT, a function": partial(mcjit, lambda engine: engine.get_function_address("count")),
    "MCJIT, constructors": partial(mcjit, lambda engine: engine.run_static_constructors()),
}


def calls(way: Callable[[Any], object], llvm_context: Any) -> str:
    """Have LLVM work on a new module. Return its text afterwards."""
    with binding.parse_assembly(COUNTED, llvm_context) as module:
        module.triple = X86
        way(module)
        return "" if module.closed else str(module)


def test_a_cache_is_no_way_past_the_rule(tmp_path: pathlib.Path) -> None:
    """It compiles in a scope of its own, and LLVM does nothing if it finds the code."""
    cache = optctx.CompileCache(tmp_path)
    for _ in range(2):
        with OptionContext():
            found = cache.compile(COUNTED, UNROLL, triple=X86)
        optctx.attach(outside="error")
        with pytest.raises(OutsideScopeError, match="nothing has been run: test_a_cache_is_no_way"):
            cache.compile(COUNTED, UNROLL, triple=X86)
        optctx.attach(outside="warn")
        with pytest.warns(OutsideScopeWarning, match="test_a_cache_is_no_way") as told:
            assert cache.compile(COUNTED, UNROLL, triple=X86).code == found.code
        assert [each.filename for each in told] == [FILE]
    assert (cache.hits, cache.misses) == (3, 1)


@rows("name", WAYS)
def test_every_way_to_compile_outside_every_scope_is_named_and_can_be_refused(name: str) -> None:
    way = WAYS[name]
    optctx.attach(outside="warn")
    with binding.create_context() as llvm_context:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            calls(way, llvm_context)
        (warning,) = found
        assert warning.category is OutsideScopeWarning
        assert warning.filename.startswith(os.path.dirname(os.path.dirname(os.path.dirname(FILE))))
        assert f"({warning.filename}:{warning.lineno}) compiles outside every scope" in str(warning.message)
        optctx.attach(outside="error")
        with pytest.raises(OutsideScopeError, match="nothing has been run: ") as refused:
            calls(way, llvm_context)
        assert f"({warning.filename}:{warning.lineno}) compiles" in str(refused.value)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with OptionContext():  # is what permits it
                calls(way, llvm_context)
            four().bind(llvm_context)
            calls(way, llvm_context)
            optctx.unbind(llvm_context)
            OptionContext().bind(llvm_context, on_mismatch="error")  # under which LLVM stays outside
            calls(way, llvm_context)
            optctx.unbind(llvm_context)


def test_a_refused_run_changes_nothing_and_a_scope_on_another_thread_permits_nothing() -> None:
    optctx.attach(outside="error")
    pool = ThreadPoolExecutor(1)
    pool.submit(int).result()  # the worker begins outside: without the GIL, it has the scope of who starts it
    with four(), pool:
        for way in ("passes", "module passes", "llvmlite's emission"):
            with binding.create_context() as own, binding.parse_assembly(COUNTED, own) as module:
                before = str(module)
                with pytest.raises(OutsideScopeError, match=r"optctx\.propagating\(pool\)"):
                    pool.submit(WAYS[way], module).result()
                assert str(module) == before
        assert optctx.propagating(pool).submit(unrolled_by_llvmlite).result() == 4


@alone
def test_under_defaults_every_thread_outside_sees_what_was_registered_whatever_is_set() -> None:
    """Of other options: tests/promises/test_programs.py."""
    initialise_targets()
    job = Job(CALLS, "default<O2>", triple=X86, emit="assembly")
    expected = compile_job(job)
    optctx.attach(outside="defaults")
    set_option("unroll-count", "3")
    set_option("inline-threshold", "0")  # which LLVM reads while it makes a pass manager

    def looks() -> None:
        assert (unrolled(), unrolled_by_llvmlite()) == (1, 1)
        assert compile_job(job) == expected
        assert current()["unroll-count"] == lookup("unroll-count") == OptionContext()["unroll-count"] == 0
        assert current() == OptionContext(base="defaults")

    looks()
    in_threads([looks] * 2)
    with OptionContext({"unroll-count": COUNT}):
        assert unrolled() == COUNT
    optctx.attach(outside="allow")
    assert current()["unroll-count"] == lookup("unroll-count") == unrolled() == 3
    assert compile_job(job) != expected


def at_work(work: Callable[[], object]) -> None:
    """Do the work while LLVM compiles on this thread, outside every scope or inside one.

    The collector rests: on another thread it would wait for llvmlite's lock, to free what earlier tests left.
    """
    done: list[object] = []
    with (
        no_collector(),
        binding.create_context() as own,
        binding.parse_assembly(COUNTED, own) as module,
        binding.create_mcjit_compiler(module, machine()) as engine,
    ):
        engine.set_object_cache(notify_func=lambda *_: done.append(work()))
        engine.finalize_object()
    assert done == [None], "what the work raised was printed"


def test_the_rule_changes_between_compilations_but_not_while_one_runs_outside() -> None:
    optctx.attach(outside="warn")

    def refused() -> None:
        others: tuple[Outside, ...] = ("allow", "error", "defaults")
        for other in others:
            with pytest.raises(
                ScopeError, match='outside every scope, 1 compilation runs under outside="warn"'
            ):
                optctx.attach(outside=other, attributes="error")
        optctx.attach(outside="warn")  # which it is
        optctx.attach()

    def changed() -> None:
        optctx.attach(outside="error")
        optctx.attach(outside="warn")

    # Where the thread that compiles does not go on.
    in_a_child = partial(in_child, partial(optctx.attach, outside="error"))
    for work in (refused, lambda: in_threads([refused]), lambda: in_threads([in_a_child])):
        with pytest.warns(OutsideScopeWarning):
            at_work(work)
    assert attributes_policy() == ("ignore",)
    with pytest.raises(OptionTypeError, match='outside is "allow", "warn", "error" or "defaults", found'):
        optctx.attach(outside="sometimes")  # type: ignore[arg-type]
    with OptionContext():
        at_work(changed)
    optctx.attach(outside="error")
    with pytest.raises(OutsideScopeError):
        unrolled_by_llvmlite()
    in_child(partial(pytest.raises, OutsideScopeError, unrolled_by_llvmlite))
    optctx.detach()
    assert (unrolled(), unrolled_by_llvmlite()) == (1, 1)


@alone
def test_checked_bindings_and_attributes_are_compared_with_what_is_read_outside() -> None:
    initialise_targets()
    set_option("unroll-count", "4")
    optctx.attach(outside="defaults", attributes="error")
    text = counted("two", '"optctx"="-unroll-max-count=2"') + counted("as_registered")
    with binding.create_context() as own:
        OptionContext({"unroll-count": 5}).bind(own, on_mismatch="error")
        with binding.parse_assembly(text, own) as module:
            with pytest.raises(ContextMismatchError, match=r"'unroll-count' \(5 there, 0 here\)"):
                run_module_passes(module)
            optctx.unbind(own)
            OptionContext(base="defaults").bind(own, on_mismatch="error")
            run_module_passes(module)
            assert str(module).count("store volatile") == 2
