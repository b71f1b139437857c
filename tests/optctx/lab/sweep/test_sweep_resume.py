"""A sweep that is killed, interrupted or out of disk: the file keeps its rows, --resume adds the others."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optctx import OptionContext
from optctx.compiling import Job
from optctx.lab.command.main import main
from optctx.lab.sweep import Row, parse_axes
from optctx.lab.sweep.records import from_cells, from_record, record, to_cells
from optctx.lab.sweep.row import STATES
from optctx.lab.sweep.rowfile import FileFormat, identity, open_rows
from tests.support.ir_texts import SCALE
from tests.support.processes import LISTENING, SECONDS, of_session, wait_for

TINY = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n"
OPTCTX = [sys.executable, "-m", "optctx"]
FORMS: tuple[FileFormat, ...] = ("csv", "json")


def test_a_sweep_of_500_with_two_crashes_and_a_hang_survives_a_kill(tmp_path: pathlib.Path) -> None:
    # The pass `chr` reads a file by this name. LLVM ends the process if there is none, and waits without end
    # for a pipe that no process writes to.
    values = [f"/dev/{'/' * extra}null" for extra in range(497)]
    dead = {str(tmp_path / f"none{number}"): "crashed" for number in range(2)}
    dead[str(tmp_path / "pipe")] = "timed out"
    for place, (value, state) in enumerate(dead.items()):
        values.insert(100 + 180 * place, value)
        if state == "timed out":
            os.mkfifo(value)
    (tmp_path / "tiny.ll").write_text(TINY)
    file = tmp_path / "rows.csv"
    command = [
        *(*OPTCTX, "sweep", str(tmp_path / "tiny.ll"), "--passes", "chr", "--jobs", "2", "--timeout", "2"),
        *("--set", f"chr-module-list={','.join(values)}", "--format", "csv", "-o", str(file)),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        wait_for(lambda: file.exists() and file.read_bytes().count(b"\n") > 250)
        process.kill()
    wait_for(lambda: not of_session(process.pid))
    kept = file.read_bytes()
    assert 250 < kept.count(b"\n") < 500
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=SECONDS)
    assert (done.returncode, done.stderr) == (0, "")
    assert file.read_bytes().startswith(kept[: kept.rindex(b"\n")])
    rows = list(csv.DictReader(file.read_text().splitlines()))
    assert Counter(row["chr-module-list"] for row in rows) == Counter(values)
    assert {row["chr-module-list"]: row["state"] for row in rows if row["state"] != "ok"} == dead
    assert {row["digest"] for row in rows} - {""} == {rows[0]["digest"]}
    printed = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["chr-module-list"] for row in printed] == values
    (first, *_) = (row for row in printed if row["state"] == "crashed")
    assert first["error"].endswith(f"Couldn't read the chr-module-list file {first['chr-module-list']}")


@pytest.fixture
def scale(tmp_path: pathlib.Path) -> str:
    (tmp_path / "scale.ll").write_text(SCALE)
    return str(tmp_path / "scale.ll")


def test_ctrl_c_keeps_the_rows_prints_them_and_leaves_no_processes(
    scale: str, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "rows.jsonl"
    # The last value never ends.
    arguments = [
        *("--set", "unroll-count=2,4", "--set", "misched-limit=default,0"),
        *("--format", "json", "-o", str(file)),
    ]
    command = [sys.executable, "-c", LISTENING, "sweep", scale, *arguments, "--timeout", "100"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    ) as process:
        wait_for(lambda: file.exists() and file.read_bytes().count(b"\n") == 2)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert err == (
        f"optctx: interrupted after 2 of 4 combinations; their rows are in {file}: go on with --resume\n"
    )
    assert [row["options"]["unroll-count"] for row in json.loads(out)] == ["2", "4"]
    wait_for(lambda: not of_session(process.pid))


def test_ctrl_c_without_a_file_prints_the_rows_in_order(
    scale: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, on_row: Callable[[Row], None], **__: object) -> None:
        for count in "21":
            on_row(Row({"unroll-count": count}, 1, 2, 0.5, None, "ab", file=scale))
        raise KeyboardInterrupt

    monkeypatch.setattr("optctx.lab.command.sweep_command.sweep", interrupted)
    assert main(["sweep", scale, "--set", "unroll-count=1,2,3", "--format", "csv"]) == 130
    out, err = capfd.readouterr()
    assert [line.split(",")[1] for line in out.splitlines()] == ["unroll-count", "1", "2"]
    assert err == "optctx: interrupted after 2 of 3 combinations\n"


SWEEP = ["sweep", "--set", "unroll-count=1,2", "--set", "force-vector-width=1,2"]


@pytest.mark.parametrize("form", FORMS)
def test_a_torn_line_is_compiled_again_and_whole_ones_are_not(
    form: FileFormat, scale: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows"
    with open_rows(str(file), form, tag_of(scale), resume=False) as rows:
        for unroll, width in (("1", "1"), ("1", "2"), ("2", "1")):  # as if they had crashed
            options = {"unroll-count": unroll, "force-vector-width": width}
            rows.write(Row(options, 0, 0, 0.0, None, "", state="crashed", error="before", file=scale))
    kept = file.read_bytes()[:-30]
    file.write_bytes(kept)
    assert main([*SWEEP, scale, "--format", form, "-o", str(file), "--resume"]) == 0
    whole = kept[: kept.rindex(b"\n") + 1]
    assert file.read_bytes().startswith(whole)
    added = file.read_bytes().removeprefix(whole).splitlines()
    assert len(added) == 2
    assert all(b"ok" in line for line in added)
    assert capfd.readouterr().out.count("before") == 2


def test_a_finished_sweep_is_resumed_without_compiling(
    scale: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = [*SWEEP, scale, "--format", "csv", "-o", str(tmp_path / "rows"), "--resume"]
    assert main(arguments) == 0  # there is nothing yet
    first = capfd.readouterr().out

    def refuse(*_: object) -> None:
        raise AssertionError("compiles")

    monkeypatch.setattr("optctx.lab.sweep.process.SweepProcess.compile", refuse)
    assert main(arguments) == 0
    assert capfd.readouterr().out == first


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (["--passes", "default<O1>"], "differs in pipeline;"),
        (["--cpu", "haswell"], "differs in target;"),
        (["--set", "unroll-runtime=true"], "differs in options;"),
        (["--verify", "--opt-level", "1"], "differs in target and --verify;"),
    ],
)
def test_the_file_of_another_sweep_is_refused_with_what_differs(
    changed: list[str], words: str, scale: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.csv"
    with open_rows(str(file), "csv", tag_of(scale), resume=False) as rows:
        rows.write(ROW)
    kept = file.read_bytes()
    assert main([*SWEEP, scale, *changed, "-o", str(file), "--resume"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith(f"optctx: cannot resume from '{file}': its rows are of a sweep that ")
    assert words in line
    assert file.read_bytes() == kept


ROW = Row({"unroll-count": "1", "force-vector-width": "2"}, 1, 2, 0.5, None, "ab")


def tag_of(path: str) -> str:
    axes = parse_axes(["unroll-count=1,2", "force-vector-width=1,2"])
    return identity({path: Job(pathlib.Path(path).read_text())}, axes, verify=False)


def test_the_module_and_the_base_are_part_of_what_a_sweep_is(scale: str) -> None:
    before = tag_of(scale).split("-")
    with OptionContext({"inline-threshold": 7}):
        inside = tag_of(scale).split("-")
    assert [here == there for here, there in zip(before, inside, strict=True)] == [True] * 4 + [False] + [
        True
    ] * 2
    pathlib.Path(scale).write_text(SCALE + "\n; other\n")
    other = tag_of(scale).split("-")
    assert [here == there for here, there in zip(before, other, strict=True)] == [False] + [True] * 6


def refusal(capfd: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*SWEEP, *arguments]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    return line.removeprefix("optctx: ")


def test_files_that_cannot_take_rows_are_one_line(
    scale: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "rows.csv"
    file.write_text("a,b\n1,2\n")
    assert "exists already; go on with --resume, or name another file" in refusal(
        capfd, scale, "-o", str(file)
    )
    assert "line 1 is no CSV of an earlier sweep" in refusal(capfd, scale, "-o", str(file), "--resume")
    json_lines = refusal(capfd, scale, "-o", str(file), "--resume", "--format", "json")
    assert "line 1 is no JSON of an earlier sweep" in json_lines
    assert file.read_text() == "a,b\n1,2\n"
    assert "name the one to go on with" in refusal(capfd, scale, "--resume")
    nowhere = str(tmp_path / "none" / "rows.csv")
    words = refusal(capfd, scale, "-o", nowhere)
    folder = nowhere.rpartition("/")[0]
    assert words == f"cannot write to '{nowhere}': there is no directory '{folder}'; make it first"
    with open_rows(str(tmp_path / "busy"), "json", tag_of(scale), resume=False):
        assert "another sweep is writing to it" in refusal(capfd, scale, "-o", str(tmp_path / "busy"))


def test_a_full_disk_is_one_line_that_says_what_is_kept(
    scale: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert refusal(capfd, scale, "-o", "/dev/full") == (
        "cannot write to /dev/full: No space left on device; it has 0 of 4 rows, go on with --resume"
    )


TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
ROWS = st.builds(
    Row,
    options=st.tuples(TEXTS, TEXTS).map(lambda texts: {"a": texts[0], "b": texts[1]}),
    instructions=st.integers(0, 10**9),
    object_size=st.integers(0, 10**9),
    seconds=st.integers(0, 10**9).map(lambda number: number / 1e6),
    agrees=st.sampled_from([None, True, False]),
    digest=st.sampled_from(["", "ab" * 32]),
    difference=TEXTS,
    state=st.just("ok"),
    error=TEXTS,
    file=TEXTS,
)


@settings(max_examples=50)
@given(ROWS)
def test_rows_go_through_json_and_csv_unchanged(row: Row) -> None:
    assert from_record(json.loads(json.dumps(record(row)))) == row
    assert from_cells(["a", "b"], to_cells(row)) == row


@settings(max_examples=50)
@given(st.lists(ROWS, min_size=1, max_size=4), st.sampled_from(FORMS), st.data())
def test_a_file_that_ends_anywhere_gives_its_whole_rows(
    rows: list[Row], form: FileFormat, data: st.DataObject
) -> None:
    path = f"/dev/shm/optctx-rows-{os.getpid()}"
    tag = "a-b-c-d-e-f-g"
    try:
        with open_rows(path, form, tag, resume=False) as file:
            ends = []
            for row in rows:
                file.write(row)
                ends.append(os.path.getsize(path))
        size = data.draw(st.integers(0, ends[-1]))
        os.truncate(path, size)
        with open_rows(path, form, tag, resume=True) as file:
            found = file.read(["a", "b"])
            assert found == rows[: len(found)]
            assert len(found) == sum(end <= size for end in ends)
            for row in rows[len(found) :]:
                file.write(row)
            assert file.read(["a", "b"]) == rows
    finally:
        os.unlink(path)


def test_rows_of_every_state_are_read_back() -> None:
    for state in STATES:
        numbers = (1, 2, 0.5) if state == "ok" else (0, 0, 0.0)
        row = Row({"a": "1"}, *numbers, None, "", state=state, error="why")
        assert from_record(record(row)) == row
        assert from_cells(["a"], to_cells(row)) == row
    with pytest.raises(ValueError, match="great"):
        from_record({**record(row), "state": "great"})
