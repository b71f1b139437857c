"""Compilations that crash, hang or are refused: each is a row, and the others are right; limits."""

from __future__ import annotations

import hashlib
import os
import pathlib
import signal
import sys
from dataclasses import replace
from typing import Self

import pytest

import optctx
from optctx import OptionContext
from optctx.compiling import FreshProcess, Job
from optctx.errors import OptctxError
from optctx.lab.command.main import main
from optctx.lab.experiment import Experiment, make_plan
from optctx.lab.outcome import Answer, Limits
from optctx.lab.sweep import sweep
from tests.support.alone import alone
from tests.support.command_lines import command_line
from tests.support.endless import LIST, SCALED, endless
from tests.support.ir_texts import COUNTED, SCALE, UNROLL, X86
from tests.support.processes import too_long, wait_for
from tests.support.rows import rows
from tests.support.scopes import process_state, scoped, set_option
from tests.support.tuning_cases import TINY

SMALL = Job(SCALE, triple=X86)


def test_a_crash_and_a_hang_are_rows_and_no_other_row_is_marked(
    fresh: FreshProcess, tmp_path: pathlib.Path
) -> None:
    job = Job(TINY, "chr", triple=X86)
    timeout = too_long(lambda: fresh.compile(job))
    none, pipe = str(tmp_path / "none"), endless(tmp_path)
    rows = sweep(job, [f"{LIST}={none},default,{pipe}"], limits=Limits(2, timeout), verify=True)
    assert [(*row.options.values(), row.state, row.error, row.agrees) for row in rows] == [
        (none, "crashed", f"exited with status 1: Error: Couldn't read the {LIST} file {none}", True),
        ("default", "ok", "", True),
        (pipe, "timed out", f"took longer than {timeout:g} s", None),
    ]
    crashed, fine, late = rows
    assert fine.digest == hashlib.sha256(scoped(job).code).hexdigest()
    for row in (crashed, late):  # no numbers
        assert (row.figure, row.attributes, row.seconds, row.digest) == (None, {}, 0.0, "")


def test_what_takes_too_much_memory_is_marked_alone() -> None:
    axes = ["align-all-blocks=1,30,2,31,3"]  # the fourth would be an object of 2 GiB
    rows = sweep(replace(SMALL, passes="instsimplify"), axes, limits=Limits(2, memory=64 << 20))
    assert [row.state for row in rows] == ["ok", "out of memory", "ok", "out of memory", "ok"]
    assert {row.error for row in rows if row.state != "ok"} == {"LLVM ERROR: out of memory"}


def test_what_llvm_refuses_is_a_row_with_its_words() -> None:
    job = Job(SCALE, "sample-profile", triple=X86)
    rows = sweep(job, ["sample-profile-file=/no/such/file,/no/such/other"], verify=True)
    assert [(row.state, row.agrees) for row in rows] == [("failed", True)] * 2
    assert all("Could not open profile" in row.error for row in rows)
    # The module kills LLVM under any options.
    rows = sweep(replace(SMALL, passes="trigger-crash-module"), ["unroll-count=1,2"])
    assert [row.state for row in rows] == ["crashed", "crashed"]


def test_the_values_that_the_calling_thread_sees_are_the_base() -> None:
    before = process_state()
    with OptionContext({"unroll-count": 4, "force-vector-width": 1}):
        rows = sweep(SMALL, ["unroll-runtime=true,default", "force-vector-width=2"], verify=True)
    assert [row.difference for row in rows] == ["", ""]
    options = ("-unroll-count=4", "-force-vector-width=2")
    for row, extra in zip(rows, [("-unroll-runtime=true",), ()], strict=True):
        assert row.attributes["size"] == len(scoped(replace(SMALL, options=(*options, *extra))).code)
    assert process_state() == before


@alone
def test_what_is_set_process_wide_is_the_base_as_well() -> None:
    expected = scoped(replace(SMALL, options=("-unroll-count=3", "-force-vector-width=1")))
    set_option("unroll-count", "3")
    set_option("experimental-debug-variable-locations", "true")  # of no context
    (row,) = sweep(SMALL, ["force-vector-width=1"], verify=True)
    assert row.agrees, row
    assert row.attributes["instructions"] == expected.instructions


@pytest.mark.usefixtures("attributes")
def test_function_attributes_count_as_they_do_here() -> None:
    ir = COUNTED.replace("(ptr %out) {", '(ptr %out) "optctx"="-unroll-count=8" {')
    plain, marked = (sweep(Job(each, UNROLL, triple=X86), [])[0] for each in (COUNTED, ir))
    assert marked.attributes["instructions"] > plain.attributes["instructions"]
    optctx.attach(attributes="ignore")
    assert sweep(Job(ir, UNROLL, triple=X86), [])[0].attributes == plain.attributes


@rows(
    ("command", "says"),
    [
        ("sweep", "2 combinations, 2 different objects"),
        ("rank", "ended because it could not go on: nothing is known of 1 value"),
    ],
)
def test_a_helper_that_is_killed_is_an_error_with_what_is_known(
    command: str, says: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    class Fragile(Experiment):
        def __enter__(self) -> Self:
            self.window = 1  # the third is asked for when the second is answered
            return super().__enter__()

        def answers(self) -> list[Answer]:
            found = super().answers()
            if found and found[0].number == 1:  # the second of three
                os.kill(self.pool.process, signal.SIGKILL)
                wait_for(lambda: self.pool.is_over)
            return found

    (tmp_path / "small.ll").write_text(SCALE)
    words = [command, str(tmp_path / "small.ll"), *(["--only", "unroll-count"] * (command == "rank"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.modules[f"optctx.lab.{command}"], "Experiment", Fragile)
        assert main([*words, "--try", "unroll-count=2,4,8"]) == 2
    out, err = capfd.readouterr()
    assert says in out
    assert "the helper process ended with status -9 before it answered; run it again" in err


# Limits hold for every compilation of a command, the first ones too

# Within the usual limit of 120 s, which would hold without them.
TOO_LONG = "took longer than 1 s"
TRIED = "--try=unroll-count=1,2"


# Each gets to its first compilation in another way.
COMMANDS = [
    ["time", "--against=-unroll-count=2", "--timeout=1"],
    ["rank", "--only=unroll-count", "--seconds=1"],
    ["sweep", TRIED, "--timeout=1"],
    ["tune", TRIED, "--seconds=1"],
    ["tune", "--seconds=1"],  # which ranks options first
]


@pytest.mark.parametrize(
    "words", [COMMANDS[0], *(pytest.param(e, marks=pytest.mark.long) for e in COMMANDS[1:])]
)
def test_a_base_that_never_ends_is_cut_off(words: list[str], tmp_path: pathlib.Path) -> None:
    (tmp_path / "one.ll").write_text("define i32 @f() {\n  ret i32 1\n}\n")
    command, *more = words
    base = [str(tmp_path / "one.ll"), f"--set={LIST}={endless(tmp_path)}", f"--passes={SCALED}"]
    ended = command_line(command, *base, *more)
    assert TOO_LONG in ended.out + ended.err
    assert ended.status == (0 if command == "sweep" else 2), ended.err


def test_the_recorded_compilation_is_cut_off(tmp_path: pathlib.Path) -> None:
    with OptionContext.from_args([f"-{LIST}={endless(tmp_path)}"]):
        plan = make_plan(Job(TINY, SCALED), Limits(timeout=1.0))
    with (
        Experiment(plan) as experiment,
        pytest.raises(OptctxError, match=f"cannot record what LLVM reads: {TOO_LONG}"),
    ):
        experiment.recorded()


def test_no_compilation_takes_longer_than_the_whole_run() -> None:
    for limits, base, expected in (
        (Limits(), None, 120.0),
        (Limits(), 1.0, 20.0),
        (Limits(), 0.1, 10.0),
        (Limits(timeout=3.0), 1.0, 3.0),
        (Limits(most=7.0), None, 7.0),
        (Limits(most=7.0), 1.0, 7.0),
        (Limits(timeout=3.0, most=7.0), 1.0, 3.0),
    ):
        assert limits.seconds(base) == expected, (limits, base)
    assert [Limits(timeout=3.0, most=each).seconds(1.0, 3) for each in (7.0, None)] == [7.0, 9.0]
