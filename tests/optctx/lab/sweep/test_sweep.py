"""The sweep: every combination compiled in threads, each as a fresh process compiles it."""

from __future__ import annotations

import importlib
import io
import pathlib
from typing import Any

import pytest
from rich.console import Console

from optctx.compiling import FreshProcess, Job, Result, compile_job
from optctx.errors import OptctxError, OptionValueError, UnknownOptionError
from optctx.lab.space import parse_space
from optctx.lab.sweep import Limits, sweep
from optctx.lab.trials import Trial
from optctx.lab.trials.tables import as_rows, as_table, record

KERNEL = (pathlib.Path(__file__).parents[4] / "examples" / "kernel.ll").read_text()
JOB = Job(KERNEL, triple="x86_64-unknown-linux-gnu")


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            ["unroll-count=1..1000", "inline-threshold=1..1000"],
            r"compile 1,000,000 combinations \(1000 x 1000\)",
        ),
        (["unroll-count=1..100001"], r"100,001 combinations \(100001\)"),
    ],
)
def test_a_grid_that_is_too_large_is_refused_with_its_size_at_once(values: list[str], words: str) -> None:
    steps: list[int] = []
    with pytest.raises(OptctxError, match=words) as raised:
        sweep(JOB, values, progress=steps.append)
    assert "--trials (trials=)" in str(raised.value)
    assert steps == []


def test_a_large_grid_can_be_begun() -> None:
    values = ["unroll-count=1..1000000", "force-vector-width=1,4"]
    found = sweep({"a": JOB, "b": JOB}, values, trials=3)
    assert [(each.number, each.file, *each.options.values()) for each in found] == [
        (0, "a", "1", "1"),
        (2, "a", "1", "4"),
        (1, "b", "1", "1"),
    ]


def test_no_more_than_twenty_bad_settings_are_named() -> None:
    with pytest.raises(OptctxError, match="20 settings or more are refused") as raised:
        sweep(JOB, [f"unroll-count={','.join(f'x{number}' for number in range(1000))}"])
    assert "'x19'" in str(raised.value)
    assert "'x20'" not in str(raised.value)


def test_conditions_and_pipelines_span_what_counts() -> None:
    space = parse_space(
        ["unroll-count=1,4 if unroll-runtime==true", "unroll-runtime"], ["loop-unroll", "instsimplify"]
    )
    found = sweep(JOB, space, verify=True, baseline=True)
    assert [(each.number, each.passes) for each in found[:2]] == [(-1, "loop-unroll"), (-1, "instsimplify")]
    assert [(each.passes, *each.options.values()) for each in found[2:]] == [
        (passes, *values)
        for passes in ("loop-unroll", "instsimplify")
        for values in [("false",), ("true", "1"), ("true", "4")]
    ]
    assert all(each.agrees for each in found[2:])
    assert {each.digest for each in found[5:]} == {found[1].digest}  # no loop is unrolled there
    assert found[4].digest not in (found[0].digest, found[3].digest)


def test_every_combination_is_what_a_fresh_process_gives() -> None:
    steps: list[int] = []
    values = ["unroll-count=2,3,default", "force-vector-width=1,4"]
    found = sweep(JOB, values, verify=True, progress=steps.append, by="instructions:max")
    assert [tuple(each.options.values()) for each in found] == [
        (count, width) for count in ("2", "3", "default") for width in "14"
    ]
    assert [(each.number, each.difference) for each in found] == [(number, "") for number in range(6)]
    assert all(each.agrees is True for each in found)
    assert len({each.digest for each in found}) == 6
    assert all(each.objectives == {"instructions": each.attributes["instructions"]} for each in found)
    assert all(each.attributes["size"] > 0 and each.seconds > 0 for each in found)
    assert steps == [12] * 12


def test_a_combination_of_defaults_is_the_plain_compilation_and_nothing_leaks() -> None:
    before = compile_job(JOB)
    (row,) = sweep(JOB, ["unroll-count=default"], limits=Limits(1))
    sweep(JOB, ["unroll-count=3,5"], limits=Limits(2))
    assert row.agrees is None
    assert (row.attributes["instructions"], row.attributes["size"]) == (before.instructions, len(before.code))
    assert compile_job(JOB) == before


def test_every_bad_setting_is_named_before_anything_is_compiled(capfd: pytest.CaptureFixture[str]) -> None:
    steps: list[int] = []
    values = ["unroll-count=1,x", "no-such-option=1", "force-vector-width=4"]
    with pytest.raises(OptctxError, match="2 settings are refused") as raised:
        sweep(JOB, values, progress=steps.append)
    assert "unroll-count" in str(raised.value)
    assert "no-such-option" in str(raised.value)
    assert steps == []
    assert capfd.readouterr().err == ""


def test_a_single_bad_setting_keeps_its_own_error() -> None:
    with pytest.raises(UnknownOptionError):
        sweep(JOB, ["no-such-option=1"])
    with pytest.raises(OptionValueError):
        sweep(JOB, ["unroll-count=1,many"])


def test_a_bad_pipeline_ends_the_sweep_with_llvms_words() -> None:
    with pytest.raises(OptctxError, match="unknown pass name 'no-such-pass'"):
        sweep(Job(KERNEL, passes="no-such-pass"), ["unroll-count=1,2,4,8"])


def test_a_fresh_process_that_differs_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Differing(FreshProcess):
        def compile(self, job: Job, *, timeout: float | None = None) -> Result:
            failing = "-unroll-count=2" in job.options
            return Result(error="no such luck") if failing else Result(code=b"another")

    monkeypatch.setattr(importlib.import_module("optctx.lab.sweep.sweep"), "FreshProcess", Differing)
    rows = sweep(JOB, ["unroll-count=1,2"], verify=True)
    assert [row.agrees for row in rows] == [False, False]
    assert "the fresh process gave" in rows[0].difference
    assert rows[1].difference == "no such luck"


def trial(count: str, name: str, size: int, agrees: bool, **more: Any) -> Trial:
    attributes = {"digest": f"{size:02d}" * 32, "size": size, "instructions": 10}
    return Trial(
        size - 10,
        {"unroll-count": count, "name": name},
        "p",
        "ok",
        {"size": size},
        0.0015,
        "",
        attributes,
        "",
        agrees,
        **more,
    )


TRIALS = [trial("1", "[b]x", 10, True), trial("2", "y", 11, False, difference="killed")]


def test_the_table_shows_values_as_they_are_and_marks_differences() -> None:
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as capture:
        console.print(as_table(TRIALS))
    lines = capture.get().splitlines()
    (first,) = (line for line in lines if "[b]x" in line)
    (second,) = (line for line in lines if "DIFFERS" in line)
    assert first.replace("│", " ").split() == ["1", "[b]x", "10", "10", "1.5", "10" * 6, "same"]
    assert second.replace("│", " ").split() == ["2", "y", "10", "11", "1.5", "11" * 6, "DIFFERS"]


def test_json_and_csv_hold_every_trial() -> None:
    (first, second) = map(record, TRIALS)
    assert first == {
        "number": 0,
        "file": "",
        "options": {"unroll-count": "1", "name": "[b]x"},
        "passes": "p",
        "state": "ok",
        "objectives": {"size": 10},
        "seconds": 0.0015,
        "agrees": True,
        "error": "",
        "difference": "",
        "attributes": {"digest": "10" * 32, "size": 10, "instructions": 10},
    }
    assert second["agrees"] is False
    (header, *lines) = as_rows(TRIALS)
    assert list(header) == [
        *("number", "file", "passes", "unroll-count", "name", "state", "instructions", "size", "seconds"),
        *("agrees", "digest", "error", "difference"),
    ]
    assert lines[1] == (1, "", "p", "2", "y", "ok", 10, 11, "0.001500", "false", "11" * 32, "", "killed")
