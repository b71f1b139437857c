"""The sample of LLVM's options: every object of llvmlite's, made under some of them and used under others."""

from __future__ import annotations

import pathlib
import sys

import pytest

from tests.support.processes import output_of

ROOT = pathlib.Path(__file__).parents[3]
# LLVM reads them while it makes a pipeline and a target machine; then a pass, and others.
FEW = ("enable-gvn-hoist", "trap-unreachable")
MORE = (
    "inline-threshold",
    "enable-merge-functions",
    "extra-vectorizer-passes",
    "enable-module-inliner",
    "pre-RA-sched",
)


@pytest.mark.parametrize(
    ("options", "places", "least"),
    [(FEW, 1, 12), pytest.param(FEW + MORE, 2, 60, marks=pytest.mark.long)],
    ids=["few", "all"],
)
def test_no_object_of_the_sample_brings_other_options_along(
    options: tuple[str, ...], places: int, least: int, tmp_path: pathlib.Path
) -> None:
    command = ["--tests", "tests/programs", "--cache", str(tmp_path), "--places", str(places)]
    for name in options:
        command += ["--option", name]
    program = "-m", "evidence.conformance.crossed"
    said = output_of(sys.executable, *program, *command, "sample", cwd=ROOT, timeout=None)
    columns, *rows = (line.split() for line in said.splitlines() if line.strip())
    totals = dict(zip(columns, map(int, rows[-1][1:]), strict=True))
    assert totals["uses"] == totals["right"] >= least
