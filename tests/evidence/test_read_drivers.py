"""What measures reads outside the package: the driver over LLVM's tests, and the microbenchmark's loops."""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from evidence.benchmarks.reads import KINDS, build, nanoseconds

ROOT = pathlib.Path(__file__).parents[2]

pytestmark = pytest.mark.long


@pytest.mark.redirected
def test_the_driver_records_the_command_lines_of_tests(tmp_path: pathlib.Path) -> None:
    """With the project's own tests in the place of LLVM's."""
    report, stacks = tmp_path / "reads.json", tmp_path / "without.md"
    words = ["sample", "--tests", "tests/programs", "--limit", "5", "--seed", "3", "--cache", str(tmp_path)]
    command = [sys.executable, "-m", "evidence.conformance.reads", *words]
    done = subprocess.run(
        [*command, "--json", str(report), "--without", str(stacks)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(report.read_text())
    assert found["totals"]["compilations"] == {"compiled": 5, "failed": 0, "stacks cut": 0}
    assert "5 compilations: " in done.stdout
    without = [place for place in found["places"] if place["without"]]
    assert without
    assert all(f"`{place['option']}`" in stacks.read_text() for place in without)
    assert "### llvm::PipelineTuningOptions::PipelineTuningOptions (Passes)" in stacks.read_text()
    assert all(place["example"][0] == place["function"] for place in found["places"])


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler (Debian: g++)")
def test_every_kind_of_read_gives_the_right_value(tmp_path: pathlib.Path) -> None:
    """`run` fails if the sum of what was read is wrong. The figures are those of a benchmark."""
    program = build(tmp_path)
    assert all(nanoseconds(program, kind, 10) > 0 for kind in KINDS)
    with pytest.raises(subprocess.CalledProcessError):
        nanoseconds(program, "no such kind", 10)
