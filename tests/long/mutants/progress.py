"""A plugin of pytest that writes down which tests begin, fail and end, and when: a JSON array for each."""

from __future__ import annotations

import json
import os
import time
from typing import IO

import pytest

__all__ = ["BEGINS", "ENDS", "FAILS", "FILE"]

FILE = "MUTANTS_PROGRESS"  # the environment variable that names the file
BEGINS, FAILS, ENDS = "begins", "fails", "ends"

_file: IO[str] | None = None


def pytest_configure(config: pytest.Config) -> None:
    """Processes of pytest-xdist report to the first one, which writes."""
    global _file
    if not hasattr(config, "workerinput"):
        _file = open(os.environ[FILE], "a", buffering=1)  # noqa: SIM115


def _write(what: str, test: str, seconds: float = 0.0) -> None:
    if _file is not None:
        _file.write(json.dumps([time.time(), what, test, seconds]) + "\n")


def pytest_runtest_logstart(nodeid: str) -> None:
    _write(BEGINS, nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _write(FAILS, report.nodeid, report.duration)


def pytest_runtest_logfinish(nodeid: str) -> None:
    _write(ENDS, nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.failed:
        _write(FAILS, report.nodeid)
