"""`make test-long` hides nothing: it names what failed, what was not run, and why."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.long.__main__ import Stage, run_stages

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
    missing = Stage("other python", ("true",), "no-such-python")
    fails = Stage("fails", (sys.executable, "-c", "raise SystemExit(7)"))
    report = run_stages([skips, missing, fails])
    failed, other, skipped = report.lines()
    assert (failed, skipped) == (
        "failed: fails (status 7)",
        "not run: test_cases::test_somewhere: no such program",
    )
    assert other.startswith("not run: other python: it is not there; build it")
    assert report.status == 1
    report.failed.clear()
    report.missing.clear()
    assert report.status == run_stages([missing]).status == 3, "a skipped test, and a stage"
    (tmp_path / "results.xml").write_text(ELSEWHERE)
    report.add_results(tmp_path / "results.xml")
    assert (list(report.lines()), report.status) == ([], 0), "what another stage runs is run"
