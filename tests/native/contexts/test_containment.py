"""What LLVM itself writes into options while it compiles stays inside the scope, and is gone after it."""

from __future__ import annotations

import mmap
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from optctx import OptionContext, current, registry
from optctx._native import share_storage_from
from optctx.compiling import FreshProcess, Job, compile_job
from tests.promises.answers import WRITER
from tests.support.alone import alone
from tests.support.installed import SANITIZED
from tests.support.ir_texts import X86
from tests.support.processes import use_small_pages
from tests.support.scopes import in_threads, process_state, scoped

JOB = replace(WRITER, triple=X86)
TABLE = ".LJTI"  # of its switch


def entries() -> object:
    return registry()["min-jump-table-entries"].value


def has_table() -> bool:
    return TABLE in compile_job(JOB).code.decode()


@alone
def test_inside_a_scope_it_reaches_neither_the_process_nor_another_thread_nor_the_next_scope() -> None:
    plain = compile_job(JOB)
    assert TABLE in plain.code.decode()
    assert entries() == 4
    before = process_state()
    context = OptionContext({"unroll-count": 2})
    with context:
        assert compile_job(WRITER).error is None
        assert TABLE not in compile_job(JOB).code.decode()  # in here it is as in a process of its own
        assert process_state() == before

        def elsewhere() -> None:
            assert compile_job(JOB) == plain
            with context:
                assert compile_job(JOB) == plain

        in_threads([elsewhere])
        with context:
            assert compile_job(JOB) == plain
        assert TABLE not in compile_job(JOB).code.decode()
    assert process_state() == before
    assert compile_job(JOB) == plain
    with context:
        assert compile_job(JOB) == plain
    assert context["min-jump-table-entries"] == 4

    compile_job(WRITER)  # outside every scope it stays, as in stock LLVM
    leaked = compile_job(JOB)
    assert (entries(), TABLE in leaked.code.decode()) == (2**32 - 1, False)
    assert registry()["min-jump-table-entries"].default == 4
    with OptionContext(base="defaults"):
        assert compile_job(JOB) == plain
    with OptionContext():
        assert compile_job(JOB) == leaked


@alone
def test_written_storage_of_cl_location_is_contained_too() -> None:
    def calls() -> object:
        return registry()["amdgpu-function-calls"].value

    job = Job("define i32 @f(i32 %x) {\n ret i32 %x\n}", "default<O0>", triple="r600-amd-amdhsa")
    with OptionContext(base="defaults"):
        compile_job(job)
        assert calls() is True
    assert calls() is True
    compile_job(job)
    assert calls() is False  # outside
    assert OptionContext(base="defaults")["amdgpu-function-calls"] is True
    assert OptionContext()["amdgpu-function-calls"] is False


def test_threads_whose_targets_write_the_same_option_do_not_meet(fresh: FreshProcess) -> None:
    jobs = [
        replace(JOB, triple=triple, options=options)
        for triple in (X86, "avr", "hexagon", "lanai", "powerpc64le-unknown-linux-gnu")
        for options in ((), ("-min-jump-table-entries=6",))
    ]
    expected = [fresh.compile(job) for job in jobs]
    assert all(result.error is None for result in expected)
    assert expected[0] != expected[1]
    before = process_state()

    def work(first: int) -> None:
        for step in range(2 * len(jobs)):
            number = (first + 3 * step) % len(jobs)
            assert scoped(jobs[number]) == expected[number], jobs[number].triple

    in_threads([partial(work, first) for first in range(3)])
    assert process_state() == before
    assert compile_job(JOB) == expected[0]


@alone
def test_scopes_nest_and_what_llvm_writes_inside_stays_inside_where_deep_ones_share_storage() -> None:
    share_storage_from(0)
    check_nested_scopes()


def check_nested_scopes() -> None:
    before, plain = process_state(), compile_job(JOB)

    with OptionContext(unroll_count=2) as outer:
        assert has_table()
        assert compile_job(WRITER).error is None
        assert not has_table()  # as in a process of its own
        with OptionContext(unroll_count=3) as inner:
            assert has_table()
            assert current() is inner
            assert compile_job(WRITER).error is None
            assert not has_table()
        assert current() is outer
        assert not has_table()
        assert entries() == 4
        assert process_state() == before
    assert process_state() == before
    assert compile_job(JOB) == plain
    with outer:
        assert has_table()


def bytes_of_a_level() -> float:
    """What a scope takes that is nested deeply, with values other than those around it."""
    contexts = [OptionContext(unroll_count=count) for count in range(1, 41)]
    with ExitStack() as scopes:
        for context in contexts:  # of which the first 32 have storage of their own
            scopes.enter_context(context)
        before = resident()
        for level in range(1000):
            scopes.enter_context(contexts[level % 40])
        return (resident() - before) / 1000


def resident() -> int:
    """Bytes of memory that this process uses."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * mmap.PAGESIZE


@pytest.mark.skipif(SANITIZED, reason="needs a build without sanitizer, which adds to each allocation")
@alone
def test_a_level_of_a_thousand_nested_scopes_takes_two_kilobytes_at_most() -> None:
    use_small_pages()
    assert bytes_of_a_level() < 2048  # it was 720 at most
