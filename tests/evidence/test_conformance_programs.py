"""The programs over LLVM's tests, on the project's own sample in their place: each finds a planted fault."""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SAMPLE = ("sample", "--tests", "tests/programs")


def run(*program: str, folder: pathlib.Path) -> tuple[int, str]:
    """(exit status, what was printed) of a program that keeps what it needs in a folder."""
    command = [sys.executable, *program, "--cache", str(folder / "cache")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


def with_options(*names: str) -> list[str]:
    return [word for name in names for word in ("--option", name)]


# evidence.conformance --record

RECORDED = ("unroll-count", "regalloc", "stats")
# Runs the suite; in it, records do not see the options that are named.
BLIND = """
import os, sys
from evidence.conformance import fresh, main
from optctx.children.pool import SharedPool
from tests.evidence.suite_faults import prepared_blind
os.environ["HIDDEN"] = sys.argv.pop(1)
fresh.POOL = SharedPool(prepared_blind)
sys.exit(main.main(sys.argv[1:]))
"""


def recorded(folder: pathlib.Path, hidden: str) -> tuple[int, dict[str, Any], str]:
    """(exit status, what is said of recording, the text)."""
    report = folder / "report.json"
    given = [*SAMPLE, "--record", "--json", str(report), *with_options(*RECORDED)]
    status, text = run("-c", BLIND, hidden, *given, folder=folder)
    return status, json.loads(report.read_text())["record"], text


@pytest.mark.long
def test_every_sensitive_option_must_be_recorded(tmp_path: pathlib.Path) -> None:
    status, found, text = recorded(tmp_path, "")
    assert (status, found["missing"], found["process"]) == (0, [], 0)
    assert found["pairs"] >= found["options"] >= len(RECORDED) - 1  # stats is refused
    assert f"{found['pairs']} recorded as read" in text
    status, blind, text = recorded(tmp_path, "unroll-count")
    assert status == 1
    assert blind["pairs"] == found["pairs"]
    assert {name for name, _ in blind["missing"]} == {"unroll-count"}
    assert all(where.startswith("sample/") for _, where in blind["missing"])
    assert "unroll-count (sample/" in text
