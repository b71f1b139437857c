"""The sweep: every combination compiled in threads, each as a fresh process compiles it."""

from __future__ import annotations

import csv
import importlib
import io
import json
import pathlib

import pytest
from rich.console import Console

from optctx.compiling import FreshProcess, Job, Result, compile_job
from optctx.errors import OptctxError, OptionValueError, UnknownOptionError
from optctx.lab.sweep import Axis, Row, as_csv, as_json, as_table, combinations, overrides, parse_axes, sweep

KERNEL = (pathlib.Path(__file__).parents[4] / "examples" / "kernel.ll").read_text()
JOB = Job(KERNEL, triple="x86_64-unknown-linux-gnu")


def test_settings_span_every_combination_with_the_last_changing_fastest() -> None:
    axes = parse_axes(["unroll-count=1,2", "-enable-gvn-hoist=true,default"])
    assert axes == [Axis("unroll-count", ("1", "2")), Axis("enable-gvn-hoist", ("true", "default"))]
    assert [tuple(combination.values()) for combination in combinations(axes)] == [
        ("1", "true"),
        ("1", "default"),
        ("2", "true"),
        ("2", "default"),
    ]


def test_the_word_default_leaves_an_option_alone() -> None:
    assert overrides({"unroll-count": "default", "inline-threshold": "5"}) == {"inline-threshold": "5"}


def test_no_settings_are_one_combination() -> None:
    assert combinations([]) == [{}]


@pytest.mark.parametrize("setting", ["unroll-count", "=3", "", "-=1", "unroll-count=1,,2"])
def test_malformed_settings_are_refused(setting: str) -> None:
    with pytest.raises(OptctxError, match=r"NAME=VALUE|extra comma"):
        parse_axes([setting])


def test_one_option_in_two_settings_is_refused() -> None:
    with pytest.raises(OptctxError, match="set twice"):
        parse_axes(["unroll-count=1", "-unroll-count=2"])


NINE = [Axis(f"option-{number}", tuple(map(str, range(10)))) for number in range(9)]


@pytest.mark.parametrize(
    ("axes", "words"),
    [
        (NINE, r"cannot compile 1,000,000,000 combinations \(10 x 10 x .* 10\), the limit is 100,000"),
        (NINE * 12, r"cannot compile more than 10\^107 combinations \(10 x 10 x .* x \.\.\.\)"),
        (NINE * 600, r"cannot compile more than 10\^5399 combinations"),  # more digits than Python prints
        ([Axis("option", tuple(map(str, range(100_001))))], r"100,001 combinations \(100001\)"),
    ],
)
def test_a_grid_that_is_too_large_is_refused_with_its_size_at_once(axes: list[Axis], words: str) -> None:
    steps: list[None] = []
    for refused in (
        lambda: sweep(JOB, axes, progress=lambda: steps.append(None)),
        lambda: combinations(axes),
    ):
        with pytest.raises(OptctxError, match=words) as raised:
            refused()
        assert "--max-combinations (max_combinations=)" in str(raised.value)
    assert steps == []


def test_the_limit_of_combinations_can_be_moved() -> None:
    axes = parse_axes(["unroll-count=1,2", "force-vector-width=1,4"])
    assert len(sweep(JOB, axes, max_combinations=4)) == len(combinations(axes, limit=4)) == 4
    with pytest.raises(OptctxError, match=r"cannot compile 4 combinations \(2 x 2\), the limit is 3"):
        sweep(JOB, axes, max_combinations=3)


def test_no_more_than_twenty_bad_settings_are_named() -> None:
    with pytest.raises(OptctxError, match="20 settings or more are refused") as raised:
        sweep(JOB, [Axis("unroll-count", tuple(f"x{number}" for number in range(1000)))])
    assert "'x19'" in str(raised.value)
    assert "'x20'" not in str(raised.value)


def test_every_combination_is_what_a_fresh_process_gives() -> None:
    steps: list[None] = []
    axes = parse_axes(["unroll-count=2,3,default", "force-vector-width=1,4"])
    rows = sweep(JOB, axes, verify=True, progress=lambda: steps.append(None))
    assert [row.options for row in rows] == combinations(axes)
    assert [row.difference for row in rows] == [""] * 6
    assert all(row.agrees is True for row in rows)
    assert len({row.digest for row in rows}) == 6
    assert all(row.instructions > 0 and row.object_size > 0 and row.seconds > 0 for row in rows)
    assert len(steps) == 12


def test_a_combination_of_defaults_is_the_plain_compilation_and_nothing_leaks() -> None:
    before = compile_job(JOB)
    (row,) = sweep(JOB, parse_axes(["unroll-count=default"]), threads=1)
    sweep(JOB, parse_axes(["unroll-count=3,5"]), threads=2)
    assert row.agrees is None
    assert (row.instructions, row.object_size) == (before.instructions, len(before.code))
    assert compile_job(JOB) == before


def test_every_bad_setting_is_named_before_anything_is_compiled(capfd: pytest.CaptureFixture[str]) -> None:
    steps: list[None] = []
    axes = parse_axes(["unroll-count=1,x", "no-such-option=1", "force-vector-width=4"])
    with pytest.raises(OptctxError, match="2 settings are refused") as raised:
        sweep(JOB, axes, progress=lambda: steps.append(None))
    assert "unroll-count" in str(raised.value)
    assert "no-such-option" in str(raised.value)
    assert steps == []
    assert capfd.readouterr().err == ""


def test_a_single_bad_setting_keeps_its_own_error() -> None:
    with pytest.raises(UnknownOptionError):
        sweep(JOB, parse_axes(["no-such-option=1"]))
    with pytest.raises(OptionValueError):
        sweep(JOB, parse_axes(["unroll-count=1,many"]))


def test_a_bad_pipeline_ends_the_sweep_with_llvms_words() -> None:
    with pytest.raises(OptctxError, match="unknown pass name 'no-such-pass'"):
        sweep(Job(KERNEL, passes="no-such-pass"), parse_axes(["unroll-count=1,2,4,8"]))


def test_a_fresh_process_that_differs_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Differing(FreshProcess):
        def compile(self, job: Job, *, timeout: float | None = None) -> Result:
            failing = "-unroll-count=2" in job.options
            return Result(error="no such luck") if failing else Result(code=b"another")

    monkeypatch.setattr(importlib.import_module("optctx.lab.sweep.sweep"), "FreshProcess", Differing)
    rows = sweep(JOB, parse_axes(["unroll-count=1,2"]), verify=True)
    assert [row.agrees for row in rows] == [False, False]
    assert "the fresh process gave" in rows[0].difference
    assert rows[1].difference == "no such luck"


ROWS = [
    Row({"unroll-count": "1", "name": "[b]x"}, 10, 640, 0.0015, True, "ab" * 32),
    Row({"unroll-count": "2", "name": "y"}, 20, 720, 0.0025, False, "cd" * 32, "killed"),
]


def test_the_table_shows_values_as_they_are_and_marks_differences() -> None:
    console = Console(file=io.StringIO(), width=120)
    with console.capture() as capture:
        console.print(as_table(ROWS))
    lines = capture.get().splitlines()
    (first,) = (line for line in lines if "[b]x" in line)
    (second,) = (line for line in lines if "DIFFERS" in line)
    assert first.replace("│", " ").split() == ["1", "[b]x", "10", "640", "1.5", "ab" * 6, "same"]
    assert second.replace("│", " ").split() == ["2", "y", "20", "720", "2.5", "cd" * 6, "DIFFERS"]


def test_json_and_csv_hold_every_row() -> None:
    (first, second) = json.loads(as_json(ROWS))
    assert first == {
        "file": "",
        "options": {"unroll-count": "1", "name": "[b]x"},
        "state": "ok",
        "instructions": 10,
        "object_size": 640,
        "seconds": 0.0015,
        "agrees": True,
        "digest": "ab" * 32,
        "error": "",
        "difference": "",
    }
    assert second["agrees"] is False
    (header, *lines) = csv.reader(io.StringIO(as_csv(ROWS)))
    numbers = ["instructions", "object_size", "seconds"]
    assert header == [
        *("file", "unroll-count", "name", "state", *numbers),
        *("agrees", "digest", "error", "difference"),
    ]
    assert lines[1] == ["", "2", "y", "ok", "20", "720", "0.002500", "false", "cd" * 32, "", "killed"]
