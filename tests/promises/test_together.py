"""Recording, watching, caching, stamping and binding, each while others are at work."""

from __future__ import annotations

from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import CompileCache, OptionContext, record, run_passes, stamp
from tests.support.alone import alone
from tests.support.ir_texts import COUNTED, X86
from tests.support.scopes import unrolled

pytestmark = pytest.mark.redirected

UNROLL = "function(loop-unroll)"


def test_a_block_around_the_cache_sees_what_is_compiled_and_nothing_of_what_is_found() -> None:
    with CompileCache() as cache, OptionContext({"unroll-count": 4}):
        with record() as miss:
            made = cache.compile(COUNTED, UNROLL, triple=X86, emit="ir")
        with record() as hit:
            assert cache.compile(COUNTED, UNROLL, triple=X86, emit="ir") == made
    assert miss.reads["unroll-count"].value == 4
    assert "unroll-count" not in hit.names
    assert (cache.hits, cache.misses) == (1, 1)


def test_a_stamp_gives_back_a_context_with_the_same_fingerprint() -> None:
    context = OptionContext({"unroll-count": 4, "arm-parallel-dsp-load-limit": 3})
    prints = []
    for _ in range(2):
        with (
            binding.create_context() as llvm_context,
            binding.parse_assembly(COUNTED, llvm_context) as module,
        ):
            stamp(module, context)
            context = OptionContext.from_module(module)
            with context, record() as log:
                run_passes(module, UNROLL)
            assert str(module).count("store volatile") == 4
            assert [each.name for each in log.unread] == ["arm-parallel-dsp-load-limit"]
            prints.append(log.fingerprint())
    assert prints[0] == prints[1]


def test_the_cache_is_not_misled_by_a_scope_that_watches_its_own_reads() -> None:
    with CompileCache() as cache:
        for unread in ("ignore", "error", "error"):
            with OptionContext({"unroll-count": 4}, unread=unread):
                found = cache.compile(COUNTED, UNROLL, triple=X86, emit="ir").ir or ""
                assert found.count("store volatile") == 4
                assert unrolled() == 4  # what is found in the cache was not read


@alone
def test_what_others_set_while_somebody_records_and_watches_is_told_and_counts() -> None:
    events: list[Any] = []
    with optctx.watch(events.append), optctx.record() as log:
        assert unrolled() == 1
        binding.set_option("", "-unroll-count=3")
        assert unrolled() == 3
        with optctx.OptionContext({"unroll-count": 4}):
            assert unrolled() == 4
    assert [(event.name, event.before, event.after) for event in events] == [("unroll-count", 0, 3)]
    assert set(log.reads["unroll-count"].values) == {0, 3, 4}
    assert optctx.drift()["unroll-count"].value == 3


def test_an_exclusive_context_and_one_that_watches_its_reads_do_not_disturb_each_other() -> None:
    with OptionContext({"rng-seed": 7}, process_wide="exclusive"), record() as log:
        with OptionContext({"unroll-count": 4}, unread="error"):
            assert unrolled() == 4
        assert log.reads["unroll-count"].value == 4
    assert unrolled() == 1
