"""The sweep: every combination is compiled as a fresh process compiles it; and what is shown of it."""

from __future__ import annotations

import importlib
import io
import pathlib
import re
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from optctx.compiling import FreshProcess, Job, Result
from optctx.errors import OptctxError
from optctx.lab.command.groups import Out
from optctx.lab.command.main import main
from optctx.lab.command.sweep_command import print_trials
from optctx.lab.outcome import Limits
from optctx.lab.sweep import sweep
from optctx.lab.tables import trial_table
from optctx.lab.trial import Goal, Trial, goal_named
from tests.support.ir_texts import COUNTED

KERNEL = (pathlib.Path(__file__).parents[3] / "examples" / "kernel.ll").read_text()
JOB = Job(KERNEL, triple="x86_64-unknown-linux-gnu")


def test_what_cannot_be_compiled_at_all_is_one_error() -> None:
    for values, words in (
        (["unroll-count=1..1000", "inline-threshold=1..1000"], r"1,000,000 combinations.*give fewer values"),
        (["unroll-count=1,x", "no-such-option=1"], "cannot set 'unroll-count' to 'x'"),
    ):
        with pytest.raises(OptctxError, match=words):
            sweep(JOB, values)
    with pytest.raises(OptctxError, match="a whole number, 1 or more"):
        Limits(jobs=-1)
    for job, words in (
        (replace(JOB, ir="; \udcff"), "it is not valid Unicode"),
        (replace(JOB, ir="define"), "cannot read the module: LLVM IR parsing error"),
        (replace(JOB, passes="nonsense"), "unknown pass name 'nonsense'"),
        (Job(f'target triple = "aarch64"\n{KERNEL}', cpu="haswell"), "it is no processor of aarch64;"),
    ):
        with pytest.raises(OptctxError, match=words):
            sweep(job, ["unroll-count=1"])


def test_every_combination_is_what_a_fresh_process_gives() -> None:
    steps: list[int] = []
    values = ["unroll-count=2,3,default", "force-vector-width=1,4"]
    base, *found = sweep(
        JOB,
        values,
        verify=True,
        on_trial=lambda trial, total: steps.append(total),
        by="instructions:max",
        baseline=True,
    )
    assert (base.number, {*base.options.values()}, base.agrees) == (-1, {"default"}, None)
    assert [tuple(each.options.values()) for each in found] == [
        (count, width) for count in ("2", "3", "default") for width in "14"
    ]
    assert [(each.number, each.difference) for each in found] == [(number, "") for number in range(6)]
    assert all(each.agrees is True for each in found)
    assert len({each.digest for each in found}) == 6
    assert all(each.figure == each.attributes["instructions"] for each in found)
    assert all(each.attributes["size"] > 0 and each.seconds > 0 for each in found)
    assert steps == [6] * 6


def test_a_fresh_process_that_differs_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Differing(FreshProcess):
        def compile(self, job: Job, *, timeout: float | None = None) -> Result:
            failing = "-unroll-count=2" in job.options
            return Result(error="no such luck", end="failed") if failing else Result(code=b"another")

    monkeypatch.setattr(importlib.import_module("optctx.lab.experiment"), "FreshProcess", Differing)
    rows = sweep(JOB, ["unroll-count=1,2"], verify=True)
    assert [row.agrees for row in rows] == [False, False]
    assert "the fresh process gave" in rows[0].difference
    assert rows[1].difference == "no such luck"


# What it shows

SIZE = goal_named("size")


def trial(number: int, count: str, size: int, **more: Any) -> Trial:
    attributes = {"size": size, "instructions": 100 - size, "digest": f"{size:064}"}
    options = {"count": count, "width": "1"}
    return Trial(number, options, "ok", float(size), size / 10, attributes=attributes, **more)


BASELINE = trial(-1, "default", 40)
TRIALS = [
    trial(0, "1", 30),
    trial(1, "2", 20),
    Trial(2, {"count": "10", "width": "1"}, "crashed", error="Assertion `x'"),
    trial(3, "default", 40),
]


def shown(trials: list[Trial], base: Trial | None = None, goal: Goal = SIZE) -> list[list[str]]:
    """The cells of the table's lines."""
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as capture:
        console.print(trial_table(trials, base, goal))
    lines = [line for line in capture.get().splitlines() if "│" in line]
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]


def test_the_table_has_the_base_first_and_the_dead_with_their_error() -> None:
    lines = shown(TRIALS, BASELINE)
    assert [line[0] for line in lines] == ["base", "0", "1", "2", "3"]
    assert [line[4] for line in lines] == ["", "-25.0%", "-50.0%", "", "as the base"]
    assert lines[3] == ["2", "-", "-", "-", "", "-", "crashed", "Assertion `x'", "-count=10 -width=1"]
    compared = [replace(TRIALS[0], options={"name": "[b]x"}, agrees=True), replace(TRIALS[1], agrees=False)]
    first, second = shown(compared)
    assert first[-1] == "-name=[b]x"
    assert (first[-2], second[-2]) == ("same", "DIFFERS")
    # A figure that not every compilation has is a column of its own.
    assert shown(TRIALS[:1], None, Goal("command", ""))[0][4] == "30"


def test_the_best_is_said_and_of_those_that_tie_the_one_with_the_fewest_options(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def last(trials: list[Trial], goal: Goal) -> list[str]:
        print_trials(trials, Out(), goal, Counter())
        return [line for line in capfd.readouterr().out.splitlines() if "│" not in line][-2:]

    assert last([BASELINE, *TRIALS], SIZE) == [
        "best by size: -count=2 -width=1 (-50.0%)",
        "4 combinations, 3 different objects, 1 crashed",
    ]
    assert last(TRIALS[:1], SIZE)[-1] == "1 combination, 1 different object"
    more = Trial(4, {"count": "2", "width": "default"}, "ok", 20.0, attributes={"size": 20})
    best = [last([*TRIALS, more], goal_named(goal))[0] for goal in ("size", "size:max")]
    assert best == ["best by size: -count=2", "best by size: -width=1"]


def test_the_command_counts_what_llvm_prints(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "count.ll").write_text(COUNTED)
    settings = ["--try", "unroll-count=4,2", "--set", "pass-remarks=unroll", "--by", "instructions"]
    assert main(["sweep", str(tmp_path / "count.ll"), *settings]) == 0
    out, err = capfd.readouterr()
    lines = [[cell.strip() for cell in line.split("│")] for line in out.splitlines() if "│" in line]
    found = [(line[1], line[-2]) for line in lines]
    assert found == [("base", ""), ("0", "-unroll-count=4"), ("1", "-unroll-count=2")]
    assert out.splitlines()[-1] == "2 combinations, 2 different objects"
    remark = r"optctx: LLVM printed 1 time: remark: <unknown>:0:0: unrolled loop by a factor of"
    for line, count in zip(sorted(err.splitlines()), "24", strict=True):
        assert re.fullmatch(f"{remark} {count}", line)
