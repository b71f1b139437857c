"""The sweep: every combination compiled in threads, each as a fresh process compiles it."""

from __future__ import annotations

import importlib
import pathlib
from dataclasses import replace

import pytest

from optctx.compiling import FreshProcess, Job, Result
from optctx.errors import Interrupted, OptctxError
from optctx.lab.outcome import Limits
from optctx.lab.sweep import sweep
from optctx.lab.trial import Trial
from tests.support.ir_texts import SCALE

KERNEL = (pathlib.Path(__file__).parents[3] / "examples" / "kernel.ll").read_text()
JOB = Job(KERNEL, triple="x86_64-unknown-linux-gnu")


def test_what_cannot_be_compiled_at_all_is_one_error() -> None:
    for values, words in (
        (["unroll-count=1..1000", "inline-threshold=1..1000"], r"1,000,000 combinations.*give fewer values"),
        (["unroll-count=1,x", "no-such-option=1"], "cannot set 'unroll-count' to 'x'"),
        ("unroll-count=1", r"expected a list of texts, such as \['unroll-count=1'\]"),
    ):
        with pytest.raises(OptctxError, match=words):
            sweep(JOB, values)
    with pytest.raises(OptctxError, match="a whole number, 1 or more"):
        Limits(jobs=-1)
    with pytest.raises(OptctxError, match="it is not valid Unicode"):
        sweep(replace(JOB, ir="; \udcff"), ["unroll-count=1"])


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
            return Result(error="no such luck") if failing else Result(code=b"another")

    monkeypatch.setattr(importlib.import_module("optctx.lab.experiment"), "FreshProcess", Differing)
    rows = sweep(JOB, ["unroll-count=1,2"], verify=True)
    assert [row.agrees for row in rows] == [False, False]
    assert "the fresh process gave" in rows[0].difference
    assert rows[1].difference == "no such luck"


def test_ctrl_c_in_python_hands_over_the_trials_so_far() -> None:
    def interrupt(ended: Trial, total: int) -> None:
        if ended.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        sweep(Job(SCALE), ["unroll-count=1..9"], limits=Limits(1), on_trial=interrupt)
    assert [trial.number for trial in caught.value.partial] == [0, 1, 2]
