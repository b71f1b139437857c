"""No false alarm: contexts tell of exactly those overrides that `record()` did not see read.

Recordings of some options see of them what `record()` sees.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optctx import OptionContext, UnreadOptionError, record, registry
from optctx.compiling import Job, compile_job, compile_unchecked
from optctx.process import noting, read_in
from tests.support.examples import examples
from tests.support.ir_texts import CALLS, COUNTED, SCALE, X86
from tests.support.rows import rows
from tests.support.scopes import compiled, in_threads

pytestmark = [pytest.mark.usefixtures("attached")]

JOBS = (
    Job(COUNTED, "function(loop-unroll)", triple=X86, emit="ir"),
    Job(CALLS, "cgscc(inline)", triple=X86, emit="ir"),
    Job(SCALE, "default<O1>", triple="aarch64", emit="object"),
    Job(SCALE, "default<O3>", triple=X86, emit="object"),
)

# If they are given at all, LLVM takes their 0 for a factor, and its assertions end the process.
ABORT = ("force-target-max-vector-interleave", "force-target-max-scalar-interleave")


@cache
def values() -> dict[str, object]:
    """Every plain option that can be set per thread, with the value that it has anyway."""
    return {
        name: option.default
        for name, option in sorted(registry().items())
        if option.scope in ("thread", "unread")
        and option.type in ("bool", "uint", "int")
        and not option.alias_of
        and name not in ABORT
        and name != "debug"  # prints, and is read in other ways
    }


@cache
def often_read() -> list[str]:
    """What the largest job reads, beside what LLVM reads once, when a process first emits code."""
    compile_job(JOBS[-1])
    with record() as log:
        compile_job(JOBS[-1])
    return sorted(log.reads.keys() & values().keys())


def told(context: OptionContext, work: Callable[[], object]) -> set[str]:
    """The options of which the context says that nothing read them."""
    try:
        with context:
            work()
    except UnreadOptionError as error:
        return set(error.names)
    return set()


def another(value: object) -> object:
    return not value if isinstance(value, bool) else int(str(value or 0)) ^ 1


@rows("job", JOBS[:3])
def test_what_was_not_read_changes_nothing_whatever_its_value(job: Job) -> None:
    """So no read goes unnoticed. The other test here compares two users of the same marks."""
    with record() as log:
        expected = compile_job(job)
    others = {name: another(value) for name, value in values().items() if name not in log.names}
    assert len(others) > 1000
    with OptionContext(others, base="defaults"):
        assert compile_job(job) == expected


OPTIONS = st.deferred(lambda: st.sampled_from(often_read()) | st.sampled_from(sorted(values())))
NAMES = st.sets(OPTIONS, min_size=1, max_size=12)


@examples(8)
@given(NAMES, NAMES, st.sampled_from(JOBS), st.booleans())
def test_what_is_told_is_what_was_not_recorded(
    outer: set[str], inner: set[str], job: Job, on_a_thread: bool
) -> None:
    outside = {name: values()[name] for name in outer}
    inside = {name: values()[name] for name in inner}
    context = OptionContext(outside, base="defaults", unread="error")
    nested = OptionContext(inside, base=context, unread="error")

    with record() as log:
        alone = told(context, lambda: compiled(job))
    assert alone == outside.keys() - log.reads.keys() == {unread.name for unread in log.unread}
    assert told(context, lambda: compiled(job)) == alone  # the same where nobody records

    found: list[set[str]] = []

    def work() -> None:
        found.append(told(nested, lambda: compiled(job)))

    with record() as log:
        above = told(context, (lambda: in_threads([work])) if on_a_thread else work)
    if not on_a_thread:
        assert found == [inside.keys() - log.reads.keys()]
    # Given at all, some have LLVM do less, such as misched-only-block: what else is read depends on them.
    with record() as log, OptionContext(outside | inside, base="defaults"):
        compiled(job)
    assert above == outside.keys() - (log.reads.keys() - inside.keys())
    assert found == [inside.keys() - log.reads.keys()]


# Of some options

NOTED = Job(SCALE, "default<O2>")
# Read by passes, by the code generator, for a target machine; of several readers; and never here.
READ = ["unroll-count", "inline-threshold", "trap-unreachable", "min-bit-test-cmps", "enable-misched"]
SCOPE = {"amdgpu-enable-delay-alu": "false"}  # changes nothing
UNREAD = ["amdgpu-enable-delay-alu", "aarch64-enable-ccmp"]
SOME = st.frozensets(st.sampled_from([*READ, *UNREAD]))


@pytest.fixture(scope="module")
def whole() -> frozenset[str]:
    with record() as log:
        compile_unchecked(NOTED)
    assert log.names >= {*READ}
    return log.names


@examples(12, deadline=None)
@given(st.lists(SOME | st.none(), min_size=1, max_size=4), st.booleans())
def test_blocks_nest(whole: frozenset[str], blocks: list[frozenset[str] | None], scoped: bool) -> None:
    """None: a block that wants all. Each sees what it wants, by itself and whatever those inside it want."""
    with contextlib.ExitStack() as stack:
        outside = [record() if names is None else noting(names) for names in blocks]
        for recording in outside:
            stack.enter_context(recording)
        if scoped:
            stack.enter_context(OptionContext(SCOPE))
        for name in READ:  # none is seen because of another one
            with noting(frozenset({name})) as last:
                compile_unchecked(NOTED)
            assert name in last.names
        compile_unchecked(NOTED)  # what is poisoned again is seen again, or was known
    for names, recording in zip(blocks, outside, strict=True):
        if names is None:
            assert recording.log.names >= whole
        else:
            assert read_in(recording) == names & whole
