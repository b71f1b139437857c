"""`record()`: every option that LLVM reads in the block, with its values and the functions that read it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptctxError, OptionContext, record, registry
from optctx.compiling import FreshProcess, Job, compile_job
from optctx.reads.log import Log
from tests.support.ir_texts import CALLS, COUNTED, SCALE, X86
from tests.support.rows import rows
from tests.support.runs import (
    EMISSION,
    RUNS,
    UNROLL,
    emit_object_by_llvmlite,
    machine,
    stores,
)
from tests.support.scopes import eight, four, unrolled, unrolled_by_llvmlite

pytestmark = [pytest.mark.usefixtures("attached")]

COUNTS = "llvm::computeUnrollCount("  # the one function that reads unroll-count


def values(log: Log, name: str) -> tuple[object, ...]:
    """What was seen of an option; () if it was not read."""
    return log.reads[name].values if name in log.reads else ()


def compiled(job: Job) -> bytes:
    result = compile_job(job)
    assert result.error is None
    return result.code or (result.ir or "").encode()


def test_an_option_is_recorded_with_its_value_and_the_function_that_reads_it() -> None:
    with record() as log:
        assert unrolled() == 1
    read = log.reads["unroll-count"]
    assert (read.name, read.value, read.values) == ("unroll-count", 0, (0,))
    [function] = read.functions
    assert function.startswith(COUNTS)
    assert "enable-gvn-hoist" not in log.reads  # no pipeline was built
    assert log.unread == []


def test_reads_are_those_of_the_block_so_far_and_the_same_in_each_block() -> None:
    compiled(Job(SCALE, triple=X86))  # LLVM reads "regalloc" once, when a process first emits code
    seen = []
    for _ in range(3):
        unrolled()
        with record() as log:
            assert dict(log.reads) == {}
            unrolled()
            first = log.reads
            assert values(log, "unroll-count") == (0,)
            assert "align-all-blocks" not in first
            compiled(Job(SCALE, "default<O1>", triple=X86))
            assert values(log, "align-all-blocks") == (0,)
            assert log.reads.keys() > first.keys() > set()
        with record() as empty:
            pass
        unrolled()
        assert dict(empty.reads) == {}
        assert log.reads is log.reads, "they are worked out once after the block"
        seen.append(dict(log.reads))
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) > 50


def test_what_optctx_reads_itself_is_not_recorded() -> None:
    with record() as log:
        context = OptionContext({"unroll-count": 4, "regalloc": "fast", "x86-align-branch": "jcc"})
        for option in registry().values():
            assert (option.value, option.default, option.choices) is not None
        assert len(dict(context)) > 2000
        assert context.diff(OptionContext(base="defaults"))
        optctx.lookup("unroll-count")
    assert dict(log.reads) == {}


# Scopes


def test_the_value_is_that_of_the_scope_and_outside_the_process_wide_one() -> None:
    with record() as log:
        unrolled()
        with four():
            unrolled()
            with OptionContext({"inline-threshold": 3}):
                unrolled()
            with OptionContext({"unroll-count": 8}):
                unrolled()
    assert values(log, "unroll-count") == (0, 4, 8)
    with pytest.raises(OptctxError, match="several values"):
        _ = log.reads["unroll-count"].value
    assert [unread.name for unread in log.unread] == ["inline-threshold"]


def test_a_block_and_a_scope_may_end_in_any_order() -> None:
    context = four()
    block = record()
    context.__enter__()
    log = block.__enter__()
    assert unrolled() == 4
    context.__exit__()
    assert unrolled() == 1
    block.__exit__(None, None, None)
    assert values(log, "unroll-count") == (4, 0)
    block = record()
    log = block.__enter__()
    context.__enter__()
    assert unrolled() == 4
    block.__exit__(None, None, None)
    assert unrolled() == 4
    context.__exit__()
    assert unrolled() == 1
    assert values(log, "unroll-count") == (4,)


def test_what_an_inner_block_reads_counts_for_the_outer_one_at_once_and_not_the_other_way_round() -> None:
    with record() as outer:
        with four(), record() as inner:
            unrolled()
            assert values(outer, "unroll-count") == values(inner, "unroll-count") == (4,)
        with eight(), record():
            unrolled()
        unrolled()
    assert (values(outer, "unroll-count"), values(inner, "unroll-count")) == ((0, 4, 8), (4,))


# Ways to make LLVM work


@rows(
    "emit",
    [
        emit_object_by_llvmlite,
        optctx.emit_assembly,
    ],
)
def test_emission_is_recorded(llvm_context: Any, emit: Callable[[Any, Any], object]) -> None:
    with binding.parse_assembly(SCALE, llvm_context) as module, machine() as target:
        module.data_layout = str(target.target_data)
        with OptionContext(EMISSION), record() as log:
            emit(module, target)
    for name, value in EMISSION.items():
        assert values(log, name) == (value,)
    assert log.unread == []


def test_a_bound_llvm_context_is_recorded_with_its_values(llvm_context: Any) -> None:
    OptionContext({"unroll-count": 5, "slp-threshold": 3}).bind(llvm_context)
    with record() as log, four():
        for run in RUNS:
            with binding.parse_assembly(COUNTED, llvm_context) as module:
                run(module)
                assert stores(module) == 5
    assert values(log, "unroll-count") == (5,)
    assert {(unread.name, unread.value) for unread in log.unread} == {
        ("slp-threshold", 3),
        ("unroll-count", 4),
    }


# Kinds of options

KINDS: dict[str, object] = {
    "lsr-preferred-addressing-mode": "none",  # choices
    "combiner-aa-only-func": "scale",  # a string
    "force-attribute": ["cold"],  # a list
    "pgo-analysis-map": ["func-entry-count"],  # a set of choices
    "force-vector-width": 2,  # storage of LLVM's own, beside the option
    "disable-loop-idiom-all": True,  # likewise
    "enable-shrink-wrap": True,  # true, false or default
    "inline-max-stacksize": 1 << 33,  # 64 bits
    "regalloc": "basic",  # copied into a table of passes by LLVM
    "pre-RA-sched": "linearize",  # called
}
KINDS_JOB = Job(SCALE + CALLS, "default<O3>", triple=X86)


def test_options_of_every_kind_are_recorded() -> None:
    for name, value in KINDS.items():
        context = OptionContext({name: value}, base="defaults")
        with record() as log, context:
            compiled(KINDS_JOB)
        assert values(log, name) == (context[name],), name
        assert log.reads[name].functions, name
        assert log.unread == [], name


@rows(("name", "value"), [("regalloc", "basic"), ("pre-RA-sched", "linearize")])
def test_what_llvm_copied_before_the_block_is_recorded_when_the_copy_is_read(name: str, value: str) -> None:
    job = Job(SCALE, "default<O1>", triple=X86)
    with OptionContext({name: value}):
        compiled(job)
        with record() as log:
            compiled(job)
    assert values(log, name) == (value,)


def test_an_alias_is_recorded_under_the_name_that_it_stands_for() -> None:
    job = Job("define void @f() { ret void }", "default<O1>", triple="aarch64")
    with record() as log, OptionContext({"aarch64-stack-hazard-size": 64}):
        compiled(job)
    assert values(log, "aarch64-streaming-hazard-size") == (64,)
    assert "aarch64-stack-hazard-size" not in log.reads
    assert log.unread == []


# What is recorded changes nothing

JOBS = [
    *(Job(SCALE, triple=triple) for triple in (X86, "aarch64-linux-gnu")),
    replace(Job(CALLS, triple=X86), options=("-inline-threshold=0", "-regalloc=fast")),
    replace(Job(COUNTED, UNROLL, triple=X86, emit="ir"), options=("-unroll-count=7",)),
]


def test_the_output_is_that_of_a_fresh_process(fresh: FreshProcess) -> None:
    for job in JOBS:
        expected = fresh.compile(job)
        assert expected.error is None
        context = OptionContext.from_args(job.options, base="defaults")
        for _ in range(2):
            with record() as log, context:
                assert compile_job(job) == expected
            assert len(log.reads) > 50
            assert log.unread == []
        with context:
            assert compile_job(job) == expected


def test_the_readers_that_the_registry_names_are_those_that_are_recorded() -> None:
    with record() as log:
        compiled(KINDS_JOB)
        unrolled_by_llvmlite()
    assert len(log.reads) > 400
    own = {name: set(read.functions) for name, read in log.reads.items()}
    readers = {name: set(registry()[name].read_by) for name in own}
    # Besides, some read a table or a copy in its place.
    apart = {name for name in own if not own[name] <= readers[name]}
    assert apart <= {"regalloc", "pre-RA-sched"}, {name: own[name] - readers[name] for name in apart}
