"""What LLVM copies into a static variable at first use has the value of each scope."""

from __future__ import annotations

import pathlib

from optctx import OptionContext
from optctx.compiling import FreshProcess, Job, compile_job
from tests.support.alone import alone
from tests.support.ir_texts import X86

BRANCHES = (pathlib.Path(__file__).parents[2] / "programs/sample/branches.ll").read_text()


@alone
def test_each_scope_has_a_copy_of_its_own_and_the_first_one_leaves_nothing_behind() -> None:
    option = "dfsan-track-origins"
    with FreshProcess() as fresh:
        right = {
            value: fresh.compile(Job(BRANCHES, "dfsan", (f"-{option}={value}",), triple=X86, emit="ir")).ir
            for value in (0, 1)
        }
    assert right[0] != right[1]
    job = Job(BRANCHES, "dfsan", triple=X86, emit="ir")
    for value in (1, 0, 1):
        with OptionContext({option: value}):
            assert compile_job(job).ir == right[value]
        assert compile_job(job).ir == right[0]
