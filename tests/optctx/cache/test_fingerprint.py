"""Fingerprints: what makes them differ. That equal ones mean equal output, test_cache.py shows."""

from __future__ import annotations

from typing import Any

import pytest
from llvmlite import binding

import optctx
from optctx import OptionContext
from optctx.compiling import Job, compile_job
from optctx.testing import crash_proof
from tests.support.ir_texts import COUNTED, SCALE, X86
from tests.support.processes import forked
from tests.support.scopes import set_option

pytestmark = [pytest.mark.usefixtures("attached")]


def fingerprint(source: str = SCALE, **overrides: Any) -> str:
    with OptionContext(base="defaults", **overrides), optctx.record() as log:
        assert compile_job(Job(source, triple=X86)).error is None
    return log.fingerprint()


def test_only_options_that_were_read_count() -> None:
    plain = fingerprint()
    assert fingerprint(hexagon_vector_combine=False) == plain
    assert fingerprint(unroll_count=4) != plain
    assert fingerprint(unroll_count=4, hexagon_vector_combine=False) == fingerprint(unroll_count=4)
    assert fingerprint(unroll_count=0) != plain  # given: LLVM can tell
    assert fingerprint(COUNTED) != plain


@crash_proof(timeout=60)
def fingerprint_of_the_process(**settings: int) -> str:
    """What a child of this process gives in which the options are set for all of it."""
    for name, value in settings.items():
        set_option(name.replace("_", "-"), str(value))
    with OptionContext(), optctx.record() as log:
        compile_job(Job(SCALE, triple=X86))
    return log.fingerprint()


def test_where_the_values_come_from_does_not_count() -> None:
    expected = fingerprint(unroll_count=4, inline_threshold=7)
    assert fingerprint_of_the_process(unroll_count=4, inline_threshold=7) == expected
    assert fingerprint_of_the_process(rng_seed=7) != fingerprint(), "only the whole process can set it"
    with OptionContext(unroll_count=4), OptionContext(inline_threshold=7), optctx.record() as log:
        compile_job(Job(SCALE, triple=X86))
    assert log.fingerprint() == expected
    with (
        optctx.record() as log,
        OptionContext(unroll_count=3),
        OptionContext({"unroll-count": "4"}) as context,
    ):
        context.derive(inline_threshold=7).run(compile_job, Job(SCALE, triple=X86))
    assert log.fingerprint() == expected


def test_values_without_a_readable_form_are_told_apart_and_found_again() -> None:
    """-pass-remarks keeps a regular expression."""

    def with_remarks(text: str) -> str:
        with OptionContext({"pass-remarks": text}), optctx.record() as log:
            compile_job(Job(SCALE, triple=X86))
        assert "pass-remarks" in log.reads
        return log.fingerprint()

    first, second = with_remarks("no-such-pass"), with_remarks("nor-this-one")
    assert len({fingerprint(), first, second}) == 3
    assert with_remarks("no-such-pass") == first


@forked
def test_process_wide_values_that_change_inside_the_block_count() -> None:
    def fingerprint(*settings: str) -> tuple[str, tuple[object, ...]]:
        with optctx.record() as log:
            for setting in settings:
                binding.set_option("", setting)
                compile_job(Job(COUNTED, triple=X86))
        return log.fingerprint(), log.reads["unroll-count"].values

    first = fingerprint("-unroll-count=3", "-unroll-count=5")
    assert first[1] == (0, 5)  # as it was in the beginning, and in the end
    again = fingerprint("-unroll-count=5")
    assert again[1] == (5,)
    assert again[0] != first[0]


@pytest.mark.usefixtures("attributes")
def test_a_bound_context_and_an_attribute_count() -> None:
    attributed = SCALE.replace("i64 %n) {", 'i64 %n) "optctx"="-unroll-count=4" {')
    assert "optctx" in attributed
    assert fingerprint(attributed) != fingerprint(attributed.replace("=4", "=2"))
    seen = []
    for count in (4, 2, 4):
        with (
            binding.create_context() as llvm_context,
            binding.parse_assembly(COUNTED, llvm_context) as module,
        ):
            OptionContext({"unroll-count": count}).bind(llvm_context)
            with optctx.record() as log:
                optctx.run_passes(module, "function(loop-unroll)")
            assert log.reads["unroll-count"].value == count
            seen.append(log.fingerprint())
    assert seen[0] == seen[2] != seen[1]
