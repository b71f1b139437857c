"""A fixed sample for the conformance suite: IR of this project's own, every job against a fresh process."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parents[2]
JOBS, OPTIONS, SENSITIVE = 300, 250, 250  # at least


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """What fresh processes give, computed once for both modes."""
    return tmp_path_factory.mktemp("references")


def judged(cache: pathlib.Path, mode: str, *more: str) -> dict[str, Any]:
    """The report of `python -m evidence.conformance` on tests/programs/sample, two threads at once."""
    report = cache / f"{mode}.json"
    given = [
        "--tests",
        "tests/programs",
        "--cache",
        cache,
        "--process-wide",
        mode,
        "--json",
        report,
        *more,
        "sample",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "evidence.conformance", *map(str, given)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    found: dict[str, Any] = json.loads(report.read_text())
    return found


# A thread cannot be told apart where threads take turns.
REFUSED = {"debug-only", "stats"} | ({"debug"} if os.environ.get("OPTCTX_ENGINE") == "exclusive" else set())


@pytest.mark.parametrize(
    ("mode", "refused"), [("refuse", REFUSED), pytest.param("exclusive", set(), marks=pytest.mark.long)]
)
def test_every_job_of_the_sample_agrees_or_is_refused_by_name(
    mode: str, refused: set[str], cache: pathlib.Path
) -> None:
    report = judged(cache, mode)
    totals = report["totals"]
    assert report["jobs"] == []  # none differing, crashed or unstable
    assert {reason.split(":")[0] for reason in report["refusals"]} == refused
    assert totals["refused"] == len(refused)
    assert totals["agreed"] == totals["judged"] - len(refused) == totals["commands"] - len(refused)
    assert totals["commands"] >= JOBS
    assert totals["options used"] >= OPTIONS
    assert totals["sensitive and agreed"] >= SENSITIVE
    assert sum(report["left_out"].values()) == 0


@pytest.mark.long
@pytest.mark.redirected
def test_every_job_agrees_with_one_machine_for_each_triple(cache: pathlib.Path) -> None:
    report = judged(cache, "refuse", "--shared-machines")
    assert report["jobs"] == []
    assert report["totals"]["sensitive and agreed"] >= SENSITIVE
