"""Recordings of some options see of them what `record()` sees."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optctx import OptionContext, record
from optctx.compiling import Job, compile_unchecked
from optctx.process import noting, read_in
from tests.support.examples import examples
from tests.support.ir_texts import SCALE

JOB = Job(SCALE, "default<O2>")
# Read by passes, by the code generator, for a target machine; of several readers; and never here.
READ = ["unroll-count", "inline-threshold", "trap-unreachable", "min-bit-test-cmps", "enable-misched"]
SCOPE = {"amdgpu-enable-delay-alu": "false"}  # changes nothing
UNREAD = ["amdgpu-enable-delay-alu", "aarch64-enable-ccmp"]
NAMES = st.frozensets(st.sampled_from([*READ, *UNREAD]))


@pytest.fixture(scope="module")
def whole() -> frozenset[str]:
    with record() as log:
        compile_unchecked(JOB)
    assert log.names >= {*READ}
    return log.names


@examples(12, deadline=None)
@given(st.lists(NAMES | st.none(), min_size=1, max_size=4), st.booleans())
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
                compile_unchecked(JOB)
            assert name in last.names
        compile_unchecked(JOB)  # what is poisoned again is seen again, or was known
    for names, recording in zip(blocks, outside, strict=True):
        if names is None:
            assert recording.log.names >= whole
        else:
            assert read_in(recording) == names & whole
