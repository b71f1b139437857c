"""The sample of LLVM's options: every object of llvmlite's, made under some of them and used under others."""

from __future__ import annotations

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[3]
# LLVM reads them while it makes a pass builder, a pipeline, a pass or a target machine.
OPTIONS = (
    "inline-threshold",
    "enable-gvn-hoist",
    "enable-merge-functions",
    "extra-vectorizer-passes",
    "enable-module-inliner",
    "trap-unreachable",
    "pre-RA-sched",
)
USES = 60  # at least


@pytest.mark.redirected
def test_no_object_of_the_sample_brings_other_options_along(tmp_path: pathlib.Path) -> None:
    options = [word for name in OPTIONS for word in ("--option", name)]
    command = ["--tests", "tests/programs", "--cache", str(tmp_path), "--places", "2", *options, "sample"]
    done = subprocess.run(
        [sys.executable, "-m", "evidence.conformance.crossed", *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    columns, *rows = (line.split() for line in done.stdout.splitlines() if line.strip())
    totals = dict(zip(columns, map(int, rows[-1][1:]), strict=True))
    assert totals["uses"] == totals["right"] >= USES
