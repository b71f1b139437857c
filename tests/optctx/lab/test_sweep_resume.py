"""A sweep that is interrupted, continued or out of disk: the same command adds what the file lacks."""

from __future__ import annotations

import pathlib

import pytest

from optctx import OptionContext
from optctx.compiling import Job
from optctx.errors import Interrupted
from optctx.lab.command.main import main
from optctx.lab.outcome import Limits
from optctx.lab.sweep import sweep
from optctx.lab.trial import Trial
from tests.support.ir_texts import SCALE
from tests.support.kept_trials import kept_trials


@pytest.fixture
def scale(tmp_path: pathlib.Path) -> str:
    (tmp_path / "scale.ll").write_text(SCALE)
    return str(tmp_path / "scale.ll")


def test_ctrl_c_in_python_hands_over_the_trials_so_far() -> None:
    def interrupt(ended: Trial) -> None:
        if ended.number == 2:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        sweep(Job(SCALE), ["unroll-count=1..9"], limits=Limits(1), on_trial=interrupt)
    assert [trial.number for trial in caught.value.partial] == [0, 1, 2]


SWEEP = ["sweep", "--try", "unroll-count=1,2", "--try", "force-vector-width=1,2"]


def test_what_is_there_is_not_compiled_again(
    scale: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept"
    arguments = [*SWEEP, scale, "--format", "json", "--keep", str(file)]
    assert main(arguments) == 0  # there is nothing yet
    lines = file.read_bytes().splitlines(keepends=True)
    # As if the first trial had crashed.
    file.write_bytes(b"".join(lines[:-1]).replace(b'"state": "ok"', b'"state": "crashed"', 1))
    capfd.readouterr()
    assert main(arguments) == 0
    second = capfd.readouterr().out
    assert second.count('"state": "crashed"') == 1
    assert sorted(kept_trials(file)) == [0, 1, 2, 3]

    def refuse(*_: object) -> None:
        raise AssertionError("compiles")

    monkeypatch.setattr("optctx.lab.experiment.Experiment.prepare", refuse)
    assert main(arguments) == 0
    assert capfd.readouterr().out == second


OTHERS = {
    "passes": ["--passes", "default<O1>"],
    "target": ["--llc=-mcpu=haswell"],
    "space": ["--try", "unroll-runtime=true"],
    "base": ["--set", "inline-threshold=7"],
    "target and verify": ["--verify", "--llc=-O1"],
    "goal": ["--by", "size:max"],
}


def test_the_file_of_another_sweep_is_refused_with_what_differs(
    scale: str, tmp_path: pathlib.Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept"

    def refused(words: str, *changed: str) -> None:
        capfd.readouterr()
        before = file.read_bytes()
        assert main([*SWEEP, scale, *changed, "--keep", str(file)]) == 2
        out, err = capfd.readouterr()
        assert (out, err.count("\n")) == ("", 1)
        assert err.startswith("optctx: cannot resume")
        assert words in err
        assert file.read_bytes() == before

    assert main([*SWEEP, scale, "--trials", "1", "--keep", str(file)]) == 0
    for words, changed in OTHERS.items():
        refused(f"its trials differ in {words};", *changed)
    with OptionContext({"inline-threshold": 7}):
        refused("its trials differ in base;")
    pathlib.Path(scale).write_text(SCALE + "\n; other\n")
    refused("its trials differ in input;")
