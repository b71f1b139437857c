"""`make test-long` hides nothing: it names what failed, what was not run, and why."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.long.__main__ import Stage, main, run_stages

CASES = """
import pytest

def test_passes(): pass

@pytest.mark.skip(reason="no such program")
def test_somewhere(): pass
"""
ELSEWHERE = '<testsuite><testcase classname="test_cases" name="test_somewhere"/></testsuite>'


@pytest.mark.long
def test_what_fails_and_what_is_not_run_is_named(tmp_path: Path) -> None:
    file = tmp_path / "test_cases.py"
    file.write_text(CASES)
    alone = ("-c", os.devnull, "--rootdir", str(tmp_path), "-p", "no:cacheprovider")
    skips = Stage("skips", (sys.executable, "-m", "pytest", "-q", *alone, str(file)))
    missing = Stage("other python", ("true",), needs="no-such-python")
    fails = Stage("fails", (sys.executable, "-c", "raise SystemExit(7)"))
    report = run_stages([skips, missing, fails])
    assert list(report.lines()) == [
        "failed: fails (status 7)",
        "not run: other python: there is no no-such-python on PATH",
        "not run: test_cases::test_somewhere: no such program",
    ]
    assert report.status == 1
    report.failed.clear()
    report.missing.clear()
    assert report.status == run_stages([missing]).status == 3, "a skipped test, and a stage"
    (tmp_path / "results.xml").write_text(ELSEWHERE)
    report.add_results(tmp_path / "results.xml")
    assert (list(report.lines()), report.status) == ([], 0), "what another stage runs is run"


def test_a_stage_that_is_none_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["soke"])
    assert ended.value.code == 2
    assert "no stage is called soke; there are long, examples, " in capsys.readouterr().err


def test_an_interpreter_by_its_path_is_a_stage(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\necho "$@"\n')
    python = tmp_path / "python3.15t"
    for each in (make, python):
        each.touch()
        each.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert main([str(python)]) == 0
    folder = f"build/test-long/{str(python)[1:].replace('/', '-')}"
    assert f"test PYTHON={python} VENV={folder}\n" in capfd.readouterr().out
    python.unlink()
    assert main([str(python), "python3.15t"]) == 3
    found = [line for line in capfd.readouterr().out.splitlines() if line.startswith("not run: ")]
    how = "sources of a release of CPython (./configure --disable-gil)"
    path = "make test-long STAGES=/path/to/python3.15t"
    assert [(how in line, line.endswith(path), line.split(";")[0]) for line in found] == [
        (True, True, f"not run: {python}: there is no {python}"),
        (True, True, "not run: python3.15t: there is no python3.15t on PATH"),
    ]
