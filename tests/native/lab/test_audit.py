"""The audit sees every access to LLVM's own option storage that should have gone elsewhere, and nothing else.

Everything runs in processes of its own: pages are protected and signals handled meanwhile.
"""

from __future__ import annotations

import os

import pytest

from optctx import OptionContext, registry
from optctx._native import Role, Site, Transaction, demangle
from optctx.compiling import Job, compile_job
from optctx.engine.attach import attach
from optctx.engine.engine import Engine, _trampolines
from tests.support.alone import alone
from tests.support.audit import audit
from tests.support.ir_texts import CALLS, SCALE, X86
from tests.support.scopes import unrolled

pytestmark = pytest.mark.skipif(
    "libtsan" in os.environ.get("LD_PRELOAD", ""),
    reason="needs a build without the sanitizer, whose own thread blocks the signals of an audit",
)


@alone
def test_a_compilation_in_a_context_touches_nothing_and_gives_the_same() -> None:
    jobs = [Job(SCALE, triple=X86), Job(CALLS, triple=X86, emit="ir"), Job(SCALE, "default<O1>", emit="ir")]
    context = OptionContext({"unroll-count": 4, "inline-threshold": 0, "regalloc": "greedy"})
    with context:
        expected = [compile_job(job) for job in jobs]
    assert all(result.error is None for result in expected)
    engine = attach()
    for slot, region in enumerate(engine.plan.regions):  # whose own storage is elsewhere: all of them
        if region.role != Role.decision:
            assert region.scoped == (engine.space.default_address(slot) != region.live)
    with audit() as seen, context:
        assert [compile_job(job) for job in jobs] == expected
    assert seen.accesses == []
    assert seen.regions > 2500
    assert seen.pages > 100
    assert seen.neighbours > 1000


@alone
def test_inside_an_audit_options_say_what_they_say_outside_and_reading_them_is_not_reported() -> None:
    """Each option, a choice that it does not have, and contexts, whose values LLVM parses."""

    def said() -> list[object]:
        each = [
            (name, o.help, o.choices, o.value, o.default, o.occurrences) for name, o in registry().items()
        ]
        with pytest.raises(ValueError, match="Did you mean att") as caught:
            OptionContext({"x86-asm-syntax": "atl"})
        made = OptionContext({"unroll-count": 2, "regalloc": "fast", "x86-align-branch": "jcc"})
        return [*each, str(caught.value), dict(context), made.diff(context)]

    with OptionContext({"unroll-count": 4}) as context:
        with audit() as seen:
            inside = said()
        assert inside == said()
    assert seen.accesses == []
    assert seen.entitled > 5000


# Of the site of an option that is left as it is: whether it writes, and how the name of its function begins.
MISSED = {
    "unroll-count": (False, "llvm::computeUnrollCount("),
    "min-jump-table-entries": (True, "llvm::TargetLoweringBase::setMinimumJumpTableEntries("),
}


def site_of(engine: Engine, option: str) -> Site:
    writes, function = MISSED[option]
    place = engine.options[option].place
    return next(
        site
        for site in engine.plan.references.sites
        if (site.region, site.offset) == place
        and site.writes == writes
        and demangle(engine.image.name_of(site.function)).startswith(function)
    )


@alone
def test_sites_that_were_missed_are_reported_with_function_option_and_address() -> None:
    engine = attach()
    missed = {option: site_of(engine, option) for option in MISSED}
    left_alone = {site.address for site in missed.values()}
    code = [part for part in _trampolines(engine.image, engine.plan) if part[0] not in left_alone]
    engine.transaction.undo()
    engine.transaction = Transaction(code, engine.image.text_begin, engine.image.text_end)
    engine.transaction.commit()
    with OptionContext({"unroll-count": 4}), audit() as seen:
        assert unrolled() == 1  # what LLVM has, not what the context says
        compile_job(Job(CALLS, "default<O0>", triple="avr"))
    accesses = {access.option: access for access in seen.accesses}
    assert len(seen.accesses) == len(accesses) == len(missed)
    for option, site in missed.items():
        access = accesses[option]
        assert access.function == demangle(engine.image.name_of(site.function))
        assert (access.instruction, access.address) == (site.address, site.region + site.offset)
        assert access.write == site.writes
        assert access.count > 0
