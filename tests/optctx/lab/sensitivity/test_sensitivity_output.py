"""How a sensitivity report is shown: the command, its formats and picture; and an end that leaves nothing."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

import pytest
from rich.console import Console

from optctx.errors import OptctxError
from optctx.lab.command.main import main
from optctx.lab.sensitivity import Effect, NotTried, Report, Trial, as_csv, as_json, as_table, save_plot
from optctx.lab.sensitivity.table import dead_table, not_tried_lines
from tests.support.ir_texts import SCALE, X86

# Wider by half, a tenth fewer instructions; and one value that LLVM did not survive.
REPORT = Report(
    by="size",
    instructions=100,
    object_size=1000,
    read=530,
    effects=(
        Effect(
            "width[b]",
            "uint",
            0,
            ("f(" + "x" * 300 + ")",) * 12,
            (
                Trial(8, "changes", 90, 1500, -0.1, 0.5, True, True),
                Trial(3, "crashes", reason="Assertion `isPowerOf2'"),
            ),
        ),
        Effect("order", "bool", True, ("g()",), (Trial(False, "changes", 100, 1000, 0.0, 0.0, False, True),)),
        Effect("idle", "boolOrDefault", False, (), (Trial(None, "same", 100, 1000),)),
    ),
    not_tried=(
        NotTried("a", "string", "no values can be guessed for type string"),
        NotTried("b", "string", "no values can be guessed for type string"),
    ),
    refused=(("width[b]", "x", "cannot set 'width[b]' to 'x': LLVM says: no"),),
)


@pytest.fixture
def scale(tmp_path: pathlib.Path) -> str:
    """A small file to compile."""
    path = tmp_path / "scale.ll"
    path.write_text(SCALE)
    return str(path)


def test_the_table_has_the_options_that_change_the_output_and_names_as_they_are() -> None:
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as capture:
        console.print(as_table(REPORT))
    (_, *lines) = (line.split() for line in capture.get().splitlines())
    assert lines == [
        ["width[b]", "uint", "0", "8", "-10.0%", "+50.0%", "changes", "IR", "and", "object"],
        ["order", "bool", "true", "false", "0", "0", "changes", "object"],
    ]


def test_values_that_ended_alike_share_a_line() -> None:
    trials = [Trial(value, "crashes", reason="Assertion") for value in (1, 2)]
    report = Report("size", 1, 1, 1, (Effect("a", "int", 0, (), (*trials, Trial(3, "timeout"))),), ())
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as capture:
        console.print(dead_table(report))
    (_, *lines) = (line.split() for line in capture.get().splitlines())
    assert lines == [["a", "0", "crashes", "1,", "2", "Assertion"], ["a", "0", "timeout", "3"]]


def test_what_was_not_tried_is_grouped_by_its_reason() -> None:
    assert not_tried_lines(REPORT) == [
        "not tried, no values can be guessed for type string: a, b",
        "not tried: cannot set 'width[b]' to 'x': LLVM says: no",
    ]
    expected = "530 read, 3 tried, 2 change the output, 2 not tried; 4 trials, 1 crashed"
    assert REPORT.summary() == expected


def test_json_holds_every_trial_and_the_functions_shortened() -> None:
    data = json.loads(as_json(REPORT))
    assert data["base"] == {"instructions": 100, "object_size": 1000}
    assert data["counts"] == {"read": 530, "tried": 3, "changing": 2, "not_tried": 2, "trials": 4, "left": 0}
    (first, _, last) = data["options"]
    assert first["functions_in_all"] == 12
    assert 0 < len(first["functions"]) < 12
    assert all(len(name) < 130 for name in first["functions"])
    assert [trial["verdict"] for trial in first["trials"]] == ["changes", "crashes"]
    assert (
        {name: first[name] for name in first["trials"][0]}
        == first["trials"][0]
        == {
            "value": 8,
            "verdict": "changes",
            "instructions": 90,
            "object_size": 1500,
            "instructions_change": -0.1,
            "size_change": 0.5,
            "ir_changes": True,
            "object_changes": True,
            "reason": "",
        }
    )
    assert (last["base"], last["value"]) == (False, None)
    assert data["not_tried"][0]["option"] == "a"
    assert data["refused"][0]["value"] == "x"


def test_csv_has_a_line_for_every_option() -> None:
    lines = list(csv.DictReader(io.StringIO(as_csv(REPORT))))
    assert [(line["option"], line["base"], line["value"]) for line in lines] == [
        ("width[b]", "0", "8"),
        ("order", "true", "false"),
        ("idle", "false", "unset"),
    ]
    assert (lines[0]["size_change"], lines[0]["verdict"]) == ("0.500000", "changes")


# Where there is no GIL, fontTools brings it back for this process.
@pytest.mark.filterwarnings("ignore:The global interpreter lock:RuntimeWarning")
@pytest.mark.parametrize(
    ("end", "start"), [("png", b"\x89PNG\r\n\x1a\n"), ("svg", b"<?xml"), ("PDF", b"%PDF-")]
)
def test_a_plot_is_an_image_and_the_same_every_time(tmp_path: pathlib.Path, end: str, start: bytes) -> None:
    pictures = []
    for name in ("one", "two"):
        path = tmp_path / f"{name}.{end}"
        save_plot(REPORT, str(path), title="kernel.ll")
        pictures.append(path.read_bytes())
    assert pictures[0].startswith(start)
    assert 4_000 < len(pictures[0]) < 200_000
    assert pictures[0] == pictures[1]
    if end == "svg":
        text = "".join(ElementTree.fromstring(pictures[0]).itertext())
        for words in ("kernel.ll", "width[b] = 8 (0)", "order = false (true)", "base 1000 bytes", "in %"):
            assert words in text
        assert "idle" not in text


def test_a_plot_of_nothing_says_so_and_a_long_one_is_cut(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "plot.svg"
    save_plot(Report("size", 1, 1, 0, (), ()), str(path))
    assert "no option changes the output" in path.read_text()
    save_plot(REPORT, str(path), top=1)
    assert "the first 1" in path.read_text()
    assert "order" not in path.read_text()


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptctxError, match=r"pip install 'optctx\[plot\]'"):
        save_plot(REPORT, "plot.png")


@pytest.mark.redirected
def test_the_command_prints_the_ranking_and_draws_it(
    capfd: pytest.CaptureFixture[str], scale: str, tmp_path: pathlib.Path
) -> None:
    plot = tmp_path / "plot.png"
    arguments = ["rank", scale, "--triple", X86, "--options", "unroll-count", "force-a*"]
    limits = ["--max-trials", "4", "--timeout", "60", "--memory", "2000", "--jobs", "2"]
    tries = ["--try", "force-vector-width=3", "--set", "unroll-runtime=true"]
    assert main([*arguments, *limits, *tries, "--plot", str(plot)]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0].split()[:3] == ["option", "type", "base"]
    assert lines[1].startswith("unroll-count")
    assert any(line.startswith("force-vector-width") and " crashes " in line for line in lines)
    assert any("no values can be guessed for type list: force-attribute" in line for line in lines)
    assert "2 tried, 1 changes the output, 1 not tried" in lines[-1]
    assert plot.stat().st_size > 4_000


@pytest.mark.redirected
def test_json_and_csv_say_the_same(capfd: pytest.CaptureFixture[str], scale: str) -> None:
    arguments = ["rank", scale, "--options", "unroll-count", "unroll-runtime", "--format"]
    assert main([*arguments, "json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert main([*arguments, "csv", "--by", "instructions"]) == 0
    lines = list(csv.DictReader(io.StringIO(capfd.readouterr().out)))
    assert {line["option"] for line in lines} == {each["option"] for each in data["options"]}
    assert data["counts"]["tried"] == 2


@pytest.mark.redirected
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--set", "unroll-count"], "expected NAME=VALUE"),
        (["--set", "unroll-count=1,2"], "the base has one value for 'unroll-count'"),
        (["--set", "unroll-count=many"], "many"),
        (["--try", "unroll-cuont=1"], "unroll-count"),
        (["--options", "no-such-*"], "no option matches 'no-such-*'"),
        (["--plot", "plot.jpeg"], "a name that ends with .png, .svg, .pdf"),
        (["--passes", "no-such-pass"], "unknown pass name 'no-such-pass'"),
        (["--cpu", "no-such-cpu"], "no processor of"),
    ],
)
def test_bad_input_is_one_line_and_exit_status_2(
    arguments: list[str], words: str, capfd: pytest.CaptureFixture[str], scale: str
) -> None:
    assert main(["rank", scale, "--triple", X86, *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("optctx: ")
    assert words in line


@pytest.mark.parametrize("argument", [["--timeout", "0"], ["--timeout", "nan"], ["--max-trials", "0"]])
def test_limits_are_above_nothing(argument: list[str], capfd: pytest.CaptureFixture[str], scale: str) -> None:
    assert main(["rank", scale, *argument]) == 2
    assert "expected" in capfd.readouterr().err
