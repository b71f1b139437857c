"""A fixed sample for the conformance suite: IR of this project's own, every job against a fresh process."""

from __future__ import annotations

import json
import pathlib
import sys
from typing import Any

import pytest

from tests.support.processes import output_of

ROOT = pathlib.Path(__file__).parents[2]
SAMPLE = ROOT / "tests" / "programs" / "sample"
JOBS, OPTIONS, SENSITIVE = 300, 250, 250  # at least, of the whole sample
PART = 12  # of `make test`


def some_jobs(folder: pathlib.Path) -> pathlib.Path:
    """The sample with 1 / PART of the command lines of each file."""
    (folder / "sample").mkdir()
    for file in SAMPLE.glob("*.ll"):
        lines = file.read_text().splitlines(keepends=True)
        jobs = [line for line in lines if "; RUN:" in line]
        kept = [*jobs[::PART], *(line for line in lines if line not in jobs)]
        (folder / "sample" / file.name).write_text("".join(kept))
    return folder


def judged(folder: pathlib.Path, *more: str, tests: pathlib.Path = SAMPLE.parent) -> dict[str, Any]:
    """The report of `python -m evidence.conformance` on the sample, two threads at once."""
    report = folder / "report.json"
    given = ["--tests", tests, "--cache", folder, "--json", report, *more, "sample"]
    output_of(sys.executable, "-m", "evidence.conformance", *given, cwd=ROOT, timeout=None)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


def check(report: dict[str, Any], part: int) -> None:
    """Every job of the sample, or of the part of it that is 1 / `part`, agrees or is refused by name."""
    totals = report["totals"]
    assert report["jobs"] == []  # none differing, crashed or unstable
    names = {reason.split(":")[0] for reason in report["refusals"]}
    assert names == {"stats"} if part == 1 else names <= {"stats"}
    assert totals["refused"] == len(names)
    assert totals["agreed"] == totals["judged"] - len(names) == totals["commands"] - len(names)
    assert totals["commands"] >= JOBS / part
    assert totals["options used"] >= OPTIONS / part
    assert totals["sensitive and agreed"] >= SENSITIVE / part
    assert sum(report["left_out"].values()) == 0


def test_a_part_of_the_sample_agrees_or_is_refused_by_name(tmp_path: pathlib.Path) -> None:
    check(judged(tmp_path, tests=some_jobs(tmp_path)), part=PART)


@pytest.mark.long
def test_every_job_agrees_or_is_refused_by_name_also_with_one_machine_for_each_triple(
    tmp_path: pathlib.Path,
) -> None:
    check(judged(tmp_path), part=1)
    report = judged(tmp_path, "--shared-machines")
    assert report["jobs"] == []
    assert report["totals"]["sensitive and agreed"] >= SENSITIVE


# LLVM reads the first two while it makes a pipeline and a target machine; then a pass, and others.
CROSSED = (
    *("enable-gvn-hoist", "trap-unreachable", "inline-threshold", "enable-merge-functions"),
    *("extra-vectorizer-passes", "enable-module-inliner", "pre-RA-sched"),
)


@pytest.mark.long
def test_no_object_of_the_sample_brings_other_options_along(tmp_path: pathlib.Path) -> None:
    """Every object of llvmlite's, made under some options and used under others."""
    command = ["--tests", SAMPLE.parent, "--cache", tmp_path, "--places", "2"]
    for name in CROSSED:
        command += ["--option", name]
    program = "-m", "evidence.conformance.crossed"
    said = output_of(sys.executable, *program, *command, "sample", cwd=ROOT, timeout=None)
    columns, *rows = (line.split() for line in said.splitlines() if line.strip())
    totals = dict(zip(columns, map(int, rows[-1][1:]), strict=True))
    assert totals["uses"] == totals["right"] >= 60
