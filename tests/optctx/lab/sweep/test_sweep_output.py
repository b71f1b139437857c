"""What a sweep shows: the order of rows, the best one, the baseline, and the picture."""

from __future__ import annotations

import csv
import io
import json
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest
from rich.console import Console

from optctx.errors import OptctxError
from optctx.lab.command.main import main
from optctx.lab.sweep import Axis, Row, as_csv, as_json, as_table
from optctx.lab.sweep.order import best_rows, sorted_rows
from optctx.lab.sweep.plot import check_sweep_plot, save_sweep_plot
from optctx.lab.sweep.table import summary
from tests.support.ir_texts import COUNTED, SCALE

COUNTS = Axis("count", ("1", "2", "10", "default"))
WIDTHS = Axis("width", ("1", "3", "[b]$x$"))


def row(count: str, size: int, **more: object) -> Row:
    return Row({"count": count, "width": "1"}, 100 - size, size, size / 10, None, f"{size:064}", **more)  # type: ignore[arg-type]


BASELINE = row("default", 40, baseline=True)
ROWS = [
    row("1", 30),
    row("2", 20),
    Row({"count": "10", "width": "1"}, 0, 0, 0.0, None, "", state="crashed", error="Assertion `x'"),
    row("default", 40),
]


def shown(rows: list[Row], *arguments: object) -> list[list[str]]:
    """The cells of the table's lines."""
    console = Console(file=io.StringIO(), width=200)
    with console.capture() as capture:
        console.print(as_table(rows, *arguments))  # type: ignore[arg-type]
    lines = [line for line in capture.get().splitlines() if "│" in line]
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines]


def test_the_table_has_the_baseline_first_the_best_last_and_the_dead_with_their_error() -> None:
    lines = shown([BASELINE, *ROWS], "size")
    assert [line[0] for line in lines] == ["baseline", "", "", "", "", "best"]
    assert lines[-1][1:] == lines[2][1:]
    assert lines[3] == ["", "10", "1", "-", "-", "-", "-", "crashed", "Assertion `x'"]
    assert summary([BASELINE, *ROWS], "size") == [
        "best by object bytes: count=2 width=1 (-50.0% against the baseline)",
        "4 combinations, 3 different objects, 1 crashed",
    ]
    assert summary(ROWS[:1], None) == ["1 combination, 1 different object"]


def test_several_files_have_a_column_and_a_best_row_each() -> None:
    rows = [replace(each, file=name) for name in ("a.ll", "b.ll") for each in ROWS]
    assert [line[:2] for line in shown(rows, "size")][-2:] == [["best", "a.ll"], ["best", "b.ll"]]
    assert summary(rows, "instructions")[1] == "b.ll: best by IR instructions: count=default width=1"
    assert next(csv.reader(io.StringIO(as_csv(rows))))[0] == "file"


def test_the_best_row_is_an_ok_one_with_the_least_figure() -> None:
    assert [each.options["count"] for each in best_rows([BASELINE, *ROWS], "size")] == ["2"]
    assert [each.options["count"] for each in best_rows(ROWS, "instructions")] == ["default"]
    assert best_rows(ROWS[2:3], "seconds") == []


def test_rows_sort_by_number_where_there_is_one() -> None:
    def counts(column: str) -> list[str]:
        return [each.options["count"] for each in sorted_rows(ROWS[::-1], column)]

    assert counts("count") == counts("-count") == ["1", "2", "10", "default"]
    assert counts("object_size") == ["2", "1", "default", "10"]
    assert counts("instructions") == ["default", "1", "2", "10"]
    assert counts("state")[0] == "10"
    with pytest.raises(OptctxError, match="cannot sort by 'size': expected one of count, width, file"):
        sorted_rows(ROWS, "size")


def test_rows_without_output_have_null_and_empty_numbers() -> None:
    dead = json.loads(as_json(ROWS))[2]
    assert (dead["state"], dead["instructions"], dead["seconds"]) == ("crashed", None, None)
    line = list(csv.DictReader(io.StringIO(as_csv(ROWS))))[2]
    assert (line["state"], line["object_size"], line["error"]) == ("crashed", "", "Assertion `x'")


# Where there is no GIL, fontTools brings it back for this process.
pytestmark = pytest.mark.filterwarnings("ignore:The global interpreter lock:RuntimeWarning")


def texts_of(path: pathlib.Path) -> str:
    return "".join(ElementTree.fromstring(path.read_bytes()).itertext())


def test_one_option_is_a_curve_with_its_baseline_and_what_died(tmp_path: pathlib.Path) -> None:
    pictures = []
    for name in ("one.svg", "two.svg"):
        axes = [COUNTS, Axis("width", ("1",))]
        save_sweep_plot([BASELINE, *ROWS], axes, str(tmp_path / name), title="$a$.ll")
        pictures.append((tmp_path / name).read_bytes())
    assert pictures[0] == pictures[1]
    text = texts_of(tmp_path / "one.svg")
    for words in ("$a$.ll", "count", "object bytes", "baseline", "crashed, timed out or failed", "10"):
        assert words in text
    assert "default" not in text  # a line, since it has no number


def test_two_options_are_a_heat_map_of_every_file(tmp_path: pathlib.Path) -> None:
    rows = [
        replace(each, options={"count": each.options["count"], "width": width}, file=name)
        for name in ("a.ll", "$b$.ll")
        for width in WIDTHS.values
        for each in ROWS
    ]
    path = tmp_path / "map.svg"
    save_sweep_plot(rows, [COUNTS, WIDTHS], str(path), by="instructions")
    text = texts_of(path)
    for words in ("a.ll", "$b$.ll", "count", "width", "[b]$x$", "default", "IR instructions", "70", "80"):
        assert words in text
    dead = [replace(each, state="crashed") for each in rows]
    save_sweep_plot(dead, [COUNTS, WIDTHS], str(tmp_path / "dead.png"))  # nothing but marks


@pytest.mark.parametrize(
    ("axes", "files", "path", "words"),
    [
        ([], 1, "x.png", "cannot plot 0 options with several values: expected one for a curve or two"),
        ([COUNTS, WIDTHS, Axis("c", ("1", "2"))], 1, "x.png", "cannot plot 3 options"),
        ([COUNTS, WIDTHS], 10, "x.png", "heat maps of 10 files: expected at most 9"),
        ([COUNTS], 1, "x.jpeg", "a name that ends with .png, .svg, .pdf"),
    ],
)
def test_what_cannot_be_drawn_is_refused_at_once(axes: list[Axis], files: int, path: str, words: str) -> None:
    with pytest.raises(OptctxError, match=words):
        check_sweep_plot(path, axes, files)


def test_a_plot_without_matplotlib_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptctxError, match=r"pip install 'optctx\[plot\]'"):
        check_sweep_plot("plot.png", [COUNTS], 1)


def test_the_command_takes_several_files_sorts_draws_and_counts_what_llvm_prints(
    tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, text in (("scale.ll", SCALE), ("count.ll", COUNTED)):
        (tmp_path / name).write_text(text)
    files = [str(tmp_path / "scale.ll"), str(tmp_path / "count.ll")]
    settings = ["--set", "unroll-count=4,2", "--set", "pass-remarks=unroll"]
    picture = tmp_path / "plot.png"
    order = ["--sort", "unroll-count", "--by", "instructions"]
    assert main(["sweep", *files, *settings, *order, "--plot", str(picture)]) == 0
    out, err = capfd.readouterr()
    lines = [[cell.strip() for cell in line.split("│")[1:4]] for line in out.splitlines() if "│" in line]
    assert lines == [
        *(["baseline", file, "default"] for file in files),
        *(["", file, count] for count in "24" for file in files),
        *(["best", file, "2"] for file in files),
    ]
    assert out.splitlines()[-1] == "4 combinations, 4 different objects"
    remark = r"optctx: LLVM printed \d times: remark: <unknown>:0:0: unrolled loop by a factor of"
    for line, count in zip(sorted(err.splitlines()), "24", strict=True):
        assert re.fullmatch(f"{remark} {count}", line)
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--sort", "size"], "cannot sort by 'size'"),
        (["--plot", "plot.png"], "cannot plot 0 options"),
        (["{file}"], "is given twice"),
    ],
)
def test_bad_arguments_are_one_line(
    arguments: list[str], words: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "scale.ll"
    file.write_text(SCALE)
    assert main(["sweep", str(file), *(each.format(file=file) for each in arguments)]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert words in line
