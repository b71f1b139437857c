"""`record()`: every option that LLVM reads in the block, with its values and the functions that read it.

That it changes nothing: tests/optctx/cache/test_cache.py, which records what it compiles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptctxError, OptionContext, record, registry
from optctx.compiling import Job
from tests.support.ir_texts import CALLS, COUNTED, SCALE, X86
from tests.support.runs import EMISSION, RUNS, machine, stores
from tests.support.scopes import compiled, eight, four, seen_of, unrolled, unrolled_by_llvmlite

pytestmark = [pytest.mark.usefixtures("attached")]


def test_reads_are_those_of_the_block_so_far_and_the_same_in_each_block() -> None:
    compiled(Job(SCALE, triple=X86))  # LLVM reads "regalloc" once, when a process first emits code
    seen = []
    for _ in range(3):
        unrolled()
        with record() as log:
            assert dict(log.reads) == {}
            unrolled()
            read = log.reads["unroll-count"]
            assert (read.name, read.value, read.values) == ("unroll-count", 0, (0,))
            [function] = read.functions  # the one that reads it
            assert function.startswith("llvm::computeUnrollCount(")
            first = log.reads
            assert not {"align-all-blocks", "enable-gvn-hoist"} & first.keys()  # no pipeline was built
            compiled(Job(SCALE, "default<O1>", triple=X86))
            assert seen_of(log, "align-all-blocks") == (0,)
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
            with OptionContext({"unroll-count": 8}), record() as inner:
                unrolled()
                # What an inner block reads counts for the outer one at once, and not the other way round.
                assert seen_of(log, "unroll-count") == (0, 4, 8)
            with OptionContext({"unroll-count": 2}), record():
                unrolled()
        unrolled()
        with OptionContext({"slp-threshold": 3}):
            pass
    assert (seen_of(log, "unroll-count"), seen_of(inner, "unroll-count")) == ((0, 4, 8, 2), (8,))
    with pytest.raises(OptctxError, match="several values"):
        _ = log.reads["unroll-count"].value
    assert [unread.name for unread in log.unread] == ["inline-threshold", "slp-threshold"]
    assert all(unread.cause.startswith("what reads it did not run") for unread in log.unread)


def test_a_block_and_a_scope_may_end_in_any_order() -> None:
    context = four()
    block = record()
    context.__enter__()
    log = block.__enter__()
    assert unrolled() == 4
    context.__exit__()
    assert unrolled() == 1
    block.__exit__(None, None, None)
    assert seen_of(log, "unroll-count") == (4, 0)
    block = record()
    log = block.__enter__()
    context.__enter__()
    assert unrolled() == 4
    block.__exit__(None, None, None)
    assert unrolled() == 4
    context.__exit__()
    assert unrolled() == 1
    assert seen_of(log, "unroll-count") == (4,)


def test_a_bound_llvm_context_is_recorded_with_its_values(llvm_context: Any) -> None:
    OptionContext({"unroll-count": 5, "slp-threshold": 3, **EMISSION}).bind(llvm_context)
    with record() as log, eight(), machine() as target:
        for run in RUNS:
            with binding.parse_assembly(COUNTED, llvm_context) as module:
                run(module)
                assert stores(module) == 5
                target.emit_object(module)
    for name, value in {"unroll-count": 5, **EMISSION}.items():
        assert seen_of(log, name) == (value,)
    unread = {(unread.name, unread.value) for unread in log.unread}
    assert unread == {("slp-threshold", 3), ("unroll-count", 8)}


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
    "regalloc": "basic",  # copied into a table of passes by LLVM, before the block
    "pre-RA-sched": "linearize",  # called
    "aarch64-stack-hazard-size": 64,  # another name of one
}
NAMES = {"aarch64-stack-hazard-size": "aarch64-streaming-hazard-size"}
KINDS_JOB = Job(SCALE + CALLS, "default<O3>", triple=X86)


def test_options_of_every_kind_are_recorded() -> None:
    for name, value in KINDS.items():
        job = replace(KINDS_JOB, triple="aarch64") if name in NAMES else KINDS_JOB
        with OptionContext({name: value}, base="defaults") as context:
            compiled(job)
            with record() as log:
                compiled(job)
        assert seen_of(log, NAMES.get(name, name)) == (context[name],), name
        assert log.reads[NAMES.get(name, name)].functions, name
        assert log.unread == [], name
        assert name not in log.reads or name not in NAMES


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


# As text


def test_a_log_prints_as_two_tables_and_a_summary() -> None:
    with record() as log:
        unrolled()
        with four(slp_threshold=7):
            unrolled()
    lines = str(log).splitlines()
    blank = lines.index("")
    assert lines[0].split() == ["option", "value", "read", "by"]
    assert [line.split()[0] for line in lines[1:blank]] == list(log.reads)
    [row] = [line for line in lines[1:blank] if line.startswith("unroll-count ")]
    assert row.split(maxsplit=1)[1].split("  ")[0] == "0 then 4"
    assert row.endswith("llvm::computeUnrollCount")
    assert lines[blank + 2].split()[:2] == ["slp-threshold", "7"]
    assert log.unread[0].cause in lines[blank + 2]
    assert lines[-1] == f"{len(log.reads)} options read, 1 override not read"
    assert repr(log) == f"<Log: {lines[-1]}>"


def test_an_override_equal_to_the_process_wide_value_is_noted_where_it_was_read() -> None:
    with record() as log, OptionContext({"unroll-count": 0}, base="defaults"):
        unrolled()
    assert log.unread == []
    assert log.reads["unroll-count"].note == "read, but equal to its process-wide value"
    assert "(read, but equal to its process-wide value)" in str(log)
    with record() as log, OptionContext({"unroll-count": 0}):
        unrolled()
        with four():  # in one of two scopes it is another
            unrolled()
    assert log.reads["unroll-count"].note == ""
    with record() as log:
        unrolled()
    assert log.reads["unroll-count"].note == ""  # nothing overrides it
