"""The conformance suite's `--record`: an option that changes the output and was not recorded is found."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

from evidence.conformance.job import Job
from evidence.conformance.recorded import removals

pytestmark = [pytest.mark.redirected, pytest.mark.long]

ROOT = pathlib.Path(__file__).parents[2]
OPTIONS = ("unroll-count", "regalloc", "debug-only")

# Runs the suite; in it, records do not see the options that are named.
BLIND = """
import sys
from optctx.reads import Log
seen = Log.reads.fget
hidden = set(sys.argv.pop(1).split(","))
Log.reads = property(lambda log: {name: read for name, read in seen(log).items() if name not in hidden})
from evidence.conformance.main import main
raise SystemExit(main(sys.argv[1:]))
"""


def judged(folder: pathlib.Path, hidden: str) -> tuple[int, dict[str, Any], str]:
    """(exit status, what is said of recording, the text) for a part of tests/sample."""
    report = folder / "report.json"
    given = ["--tests", "tests/programs", "--cache", folder, "--record", "--json", report, "sample"]
    given += [word for name in OPTIONS for word in ("--option", name)]
    done = subprocess.run(
        [sys.executable, "-c", BLIND, hidden, *map(str, given)], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stderr == ""
    return done.returncode, json.loads(report.read_text())["record"], done.stdout


@pytest.mark.long
def test_every_sensitive_option_must_be_recorded(tmp_path: pathlib.Path) -> None:
    status, found, text = judged(tmp_path, "")
    assert (status, found["missing"], found["process"]) == (0, [], 0)
    assert found["pairs"] >= found["options"] >= len(OPTIONS) - 1  # debug-only is refused
    assert f"{found['pairs']} recorded as read" in text
    status, blind, text = judged(tmp_path, "unroll-count")
    assert status == 1
    assert blind["pairs"] == found["pairs"]
    assert {name for name, _ in blind["missing"]} == {"unroll-count"}
    assert all(where.startswith("sample/") for _, where in blind["missing"])
    assert "unroll-count (sample/" in text


def test_each_option_of_a_job_is_left_out_by_itself() -> None:
    job = Job("opt", "x.ll", options=("-b=1", "--a", "-b=2"))
    assert {name: without.options for name, without in removals(job)} == {
        "a": ("-b=1", "-b=2"),
        "b": ("--a",),
    }
    assert [without for _, without in removals(Job("opt", "x.ll", options=("-a",)))] == [Job("opt", "x.ll")]
