"""A sweep that is killed, interrupted or out of disk: the file keeps its trials, --resume adds the others."""

from __future__ import annotations

import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
from collections import Counter

import pytest

from optctx import OptionContext
from optctx.compiling import Job
from optctx.errors import Interrupted, OptctxError
from optctx.lab.command.main import main
from optctx.lab.sweep import Limits, sweep
from optctx.lab.trials import Trial, read_trials
from tests.support.endless import LIST, SCALED, endless
from tests.support.ir_texts import SCALE, X86
from tests.support.processes import LISTENING, SECONDS, of_session, wait_for

TINY = "define i32 @f(i32 %a) {\n  %b = add i32 %a, 1\n  ret i32 %b\n}\n"
OPTCTX = [sys.executable, "-m", "optctx"]
SMALL = Job(SCALE, triple=X86)


@pytest.mark.parametrize(
    ("size", "hangs"), [(150, False), pytest.param(500, True, marks=pytest.mark.long)], ids=["150", "500"]
)
def test_a_sweep_of_hundreds_with_crashes_and_a_hang_survives_a_kill(
    size: int, hangs: bool, tmp_path: pathlib.Path
) -> None:
    # The pass `chr` reads a file by this name. LLVM ends the process if there is none, and waits without end
    # for a pipe that no process writes to.
    values = [f"/dev/{'/' * extra}null" for extra in range(size)]
    dead = {str(tmp_path / f"none{number}"): "crashed" for number in range(2)}
    if hangs:
        os.mkfifo(tmp_path / "pipe")
        dead[str(tmp_path / "pipe")] = "timed out"
    for place, value in enumerate(dead):
        values.insert(size * (place + 1) // 4, value)
    (tmp_path / "tiny.ll").write_text(TINY)
    file = tmp_path / "kept"
    command = [
        *(*OPTCTX, "sweep", str(tmp_path / "tiny.ll"), "--passes", "chr", "-j", "2", "--timeout", "2"),
        *("--try", f"chr-module-list={','.join(values)}", "--format", "csv", "--keep", str(file)),
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        wait_for(lambda: file.exists() and file.read_bytes().count(b'"op_code":6') > size // 2)
        process.kill()
    wait_for(lambda: not of_session(process.pid))
    kept = file.read_bytes()
    assert size // 2 < kept.count(b'"op_code":6') < size
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0
    assert all("compiling: " in line for line in done.stderr.splitlines())  # how far it came
    assert file.read_bytes().startswith(kept[: kept.rindex(b"\n")])
    trials = read_trials(str(file)).trials
    assert Counter(each.options["chr-module-list"] for each in trials.values()) == Counter(values)
    assert {t.options["chr-module-list"]: t.state for t in trials.values() if t.state != "ok"} == dead
    assert len({each.digest for each in trials.values()} - {""}) == 1
    printed = list(csv.DictReader(done.stdout.splitlines()))
    assert [row["chr-module-list"] for row in printed] == values
    (first, *_) = (row for row in printed if row["state"] == "crashed")
    assert first["error"].endswith(f"Couldn't read the chr-module-list file {first['chr-module-list']}")


@pytest.fixture
def scale(tmp_path: pathlib.Path) -> str:
    (tmp_path / "scale.ll").write_text(SCALE)
    return str(tmp_path / "scale.ll")


def test_ctrl_c_keeps_the_trials_prints_them_and_leaves_no_processes(
    scale: str, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "kept"
    # The last value never ends.
    arguments = [
        *("--passes", SCALED, "--try", "unroll-count=2,4", "--try", f"{LIST}=/dev/null,{endless(tmp_path)}"),
        *("--format", "json", "--keep", str(file)),
    ]
    command = [sys.executable, "-c", LISTENING, "sweep", scale, *arguments, "--timeout", "100"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    ) as process:
        wait_for(lambda: file.exists() and file.read_bytes().count(b'"op_code":6') == 2)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 130
    assert (
        err.splitlines()[-1] == f"optctx: interrupted after 2 trials; {file} keeps them: go on with --resume"
    )
    assert [row["options"]["unroll-count"] for row in json.loads(out)] == ["2", "4"]
    wait_for(lambda: not of_session(process.pid))


def test_ctrl_c_in_python_hands_over_the_trials_so_far() -> None:
    def interrupt(trial: Trial) -> None:
        if trial.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        sweep(SMALL, ["unroll-count=1..9"], limits=Limits(1), on_trial=interrupt)
    assert [trial.number for trial in caught.value.partial] == [0, 1, 2]


SWEEP = ["sweep", "--try", "unroll-count=1,2", "--try", "force-vector-width=1,2"]


def test_what_is_there_is_not_compiled_again(
    scale: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept"
    arguments = [*SWEEP, scale, "--format", "csv", "--keep", str(file), "--resume"]
    assert main(arguments) == 0  # there is nothing yet
    first = capfd.readouterr().out
    whole = file.read_bytes()
    lines = whole.splitlines(keepends=True)
    # As if the first trial had crashed; the base is before it.
    file.write_bytes(b"".join(lines[:-1]).replace(b'"state":"ok"', b'"state":"crashed"', 2))
    assert main(arguments) == 0
    second = capfd.readouterr().out
    assert second.count(",crashed,") == 1
    assert second.replace(",crashed,", ",ok,").split(",")[0] == first.split(",")[0]
    assert sorted(read_trials(str(file)).trials) == [0, 1, 2, 3]

    def refuse(*_: object) -> None:
        raise AssertionError("compiles")

    monkeypatch.setattr("optctx.lab.sweep.process.SweepProcess.prepare", refuse)
    assert main(arguments) == 0
    assert capfd.readouterr().out == second


OTHERS = {
    "differs in pipelines;": ["--passes", "default<O1>"],
    "differs in target;": ["--cpu", "haswell"],
    "differs in space;": ["--try", "unroll-runtime=true"],
    "differs in base;": ["--set", "inline-threshold=7"],
    "differs in target and verify;": ["--verify", "--opt-level", "1"],
    "differs in goal;": ["--by", "size:max"],
}


def test_the_file_of_another_sweep_is_refused_with_what_differs(
    scale: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept"
    assert main([*SWEEP, scale, "--trials", "1", "--keep", str(file)]) == 0
    kept = file.read_bytes()
    capfd.readouterr()
    for words, changed in OTHERS.items():
        assert main([*SWEEP, scale, *changed, "--keep", str(file), "--resume"]) == 2
        out, err = capfd.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        assert line.startswith(f"optctx: cannot resume from '{file}': its trials are of a sweep that ")
        assert words in line
        assert file.read_bytes() == kept


def test_the_module_and_the_callers_values_are_part_of_what_a_sweep_is(tmp_path: pathlib.Path) -> None:
    keep = str(tmp_path / "kept")
    sweep(SMALL, ["unroll-count=1,2"], keep=keep)
    with OptionContext({"inline-threshold": 7}), pytest.raises(OptctxError, match="differs in base;"):
        sweep(SMALL, ["unroll-count=1,2"], keep=keep, resume=True)
    with pytest.raises(OptctxError, match="differs in input;"):
        sweep(Job(SCALE + "\n; other\n", triple=X86), ["unroll-count=1,2"], keep=keep, resume=True)


def test_a_trial_that_a_stranger_changed_is_refused(tmp_path: pathlib.Path) -> None:
    keep = tmp_path / "kept"
    sweep(SMALL, ["unroll-count=1,2"], keep=str(keep))
    keep.write_bytes(
        keep.read_bytes().replace(b'"options":{"unroll-count":"1"}', b'"options":{"unroll-count":"7"}')
    )
    with pytest.raises(OptctxError, match="trial 0 of the file is not of this sweep"):
        sweep(SMALL, ["unroll-count=1,2"], keep=str(keep), resume=True)


def test_a_file_that_vanishes_midway_ends_the_sweep_early_with_what_was_found(
    scale: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept"
    monkeypatch.setattr(
        "optctx.lab.trials.trialfile._now", lambda: file.unlink(missing_ok=True) or "2026-01-01"
    )
    assert main([*SWEEP, scale, "--keep", str(file), "--format", "csv"]) == 3
    out, err = capfd.readouterr()
    assert "deleted, moved or replaced" in err
    assert out.count(",ok,") == 1
