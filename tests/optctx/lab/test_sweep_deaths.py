"""A sweep in which LLVM crashes, hangs, refuses and prints: each is a row, and the other rows are right."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from dataclasses import replace

import pytest

import optctx
from optctx import OptionContext
from optctx.compiling import FreshProcess, Job
from optctx.errors import EndedEarlyError
from optctx.lab.experiment import Experiment, Plan
from optctx.lab.outcome import Limits
from optctx.lab.sweep import sweep
from optctx.lab.trial import Trial
from tests.support.alone import alone
from tests.support.endless import LIST, SCALED, endless
from tests.support.ir_texts import COUNTED, SCALE, UNROLL, X86
from tests.support.processes import too_long
from tests.support.scopes import process_state, scoped, set_option

SMALL = Job(SCALE, triple=X86)
# LLVM asserts that a vector width is a power of two.
CRASHING = "3"


@pytest.fixture(scope="module")
def timeout(fresh: FreshProcess) -> float:
    return too_long(lambda: fresh.compile(SMALL))


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory) -> str:
    return endless(tmp_path_factory.mktemp("endless"))


@pytest.fixture(scope="module")
def rows(timeout: float, waits: str) -> list[Trial]:
    axes = [f"force-vector-width=1,{CRASHING}", f"{LIST}=default,{waits}"]
    job = replace(SMALL, passes=SCALED)
    return sweep(job, [*axes, "unroll-count=2"], limits=Limits(2, timeout), verify=True)


def test_a_crash_and_a_hang_are_rows_and_no_other_row_is_marked(
    rows: list[Trial], timeout: float, waits: str
) -> None:
    found = [(*row.options.values(), row.state, row.error.partition("(")[0], row.agrees) for row in rows]
    assert found == [
        ("1", "default", "2", "ok", "", True),
        ("1", waits, "2", "timed out", f"took longer than {timeout:g} s", None),
        (CRASHING, "default", "2", "crashed", "Assertion `isPowerOf2_32", True),
        (CRASHING, waits, "2", "timed out", f"took longer than {timeout:g} s", None),
    ]
    fine, *dead = rows
    options = ("-force-vector-width=1", "-unroll-count=2")
    assert fine.digest == hashlib.sha256(scoped(replace(SMALL, options=options)).code).hexdigest()
    for row in dead:  # no numbers
        assert (row.figure, row.attributes, row.seconds, row.digest) == (None, {}, 0.0, "")


def test_what_takes_too_much_memory_is_marked_alone() -> None:
    axes = ["align-all-blocks=1,30,2,31,3"]  # the fourth would be an object of 2 GiB
    rows = sweep(replace(SMALL, passes="instsimplify"), axes, limits=Limits(2, memory=64 << 20))
    assert [row.state for row in rows] == ["ok", "out of memory", "ok", "out of memory", "ok"]
    assert {row.error for row in rows if row.state != "ok"} == {"LLVM ERROR: out of memory"}


def test_what_llvm_refuses_is_a_row_with_its_words() -> None:
    job = Job(SCALE, "sample-profile", triple=X86)
    rows = sweep(job, ["sample-profile-file=/no/such/file,/no/such/other"], verify=True)
    assert [row.state for row in rows] == ["failed", "failed"]
    assert all("Could not open profile" in row.error for row in rows)
    assert [row.agrees for row in rows] == [True, True]
    # The module kills LLVM under any options.
    rows = sweep(replace(SMALL, passes="trigger-crash-module"), ["unroll-count=1,2"])
    assert [row.state for row in rows] == ["crashed", "crashed"]


def test_the_values_that_the_calling_thread_sees_are_the_base(fresh: FreshProcess) -> None:
    before = process_state()
    with OptionContext({"unroll-count": 4, "force-vector-width": 1}):
        rows = sweep(SMALL, ["unroll-runtime=true,default", "force-vector-width=2"], verify=True)
    assert [row.difference for row in rows] == ["", ""]
    options = ("-unroll-count=4", "-force-vector-width=2")
    for row, extra in zip(rows, [("-unroll-runtime=true",), ()], strict=True):
        assert row.attributes["size"] == len(fresh.compile(replace(SMALL, options=(*options, *extra))).code)
    assert process_state() == before


@alone
def test_what_is_set_process_wide_is_the_base_as_well() -> None:
    set_option("unroll-count", "3")
    set_option("experimental-debug-variable-locations", "true")  # of no context
    (row,) = sweep(SMALL, ["force-vector-width=1"], verify=True)
    assert row.agrees, row
    with FreshProcess() as fresh:
        options = ("-unroll-count=3", "-force-vector-width=1")
        result = fresh.compile(replace(SMALL, options=options))
    assert row.attributes["instructions"] == result.instructions


@pytest.mark.usefixtures("attributes")
def test_function_attributes_count_as_they_do_here() -> None:
    ir = COUNTED.replace("(ptr %out) {", '(ptr %out) "optctx"="-unroll-count=8" {')
    plain, marked = (sweep(Job(each, UNROLL, triple=X86), [])[0] for each in (COUNTED, ir))
    assert marked.attributes["instructions"] > plain.attributes["instructions"]
    optctx.attach(attributes="ignore")
    assert sweep(Job(ir, UNROLL, triple=X86), [])[0].attributes == plain.attributes


def test_a_helper_that_is_killed_is_an_error_with_what_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[int] = []
    found: list[Trial] = []

    class Noted(Experiment):
        def prepare(self, plan: Plan) -> None:
            super().prepare(plan)
            started.append(self.pool.process)

    def kill(trial: Trial) -> None:
        if not found:  # further trials may have been read with the first
            os.kill(started[0], signal.SIGKILL)
        found.append(trial)

    monkeypatch.setattr(sys.modules["optctx.lab.sweep"], "Experiment", Noted)
    with pytest.raises(EndedEarlyError, match="the helper process ended with status -9") as caught:
        # more than are under way at once
        sweep(SMALL, ["unroll-count=1..64"], on_trial=kill, limits=Limits(1))
    assert found
    assert caught.value.partial == sorted(found, key=lambda trial: trial.number)
