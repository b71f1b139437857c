"""`make test-long` hides nothing: it names what failed, what was not run, and why."""

from __future__ import annotations

import sys

from tests.long.__main__ import Stage, run_stages


def test_what_fails_and_what_is_not_run_is_named() -> None:
    missing = Stage("other python", ("false",), "no-such-python")
    fails = Stage("fails", (sys.executable, "-c", "raise SystemExit(7)"))
    failed, absent = run_stages([missing, fails, Stage("passes", ("true",))])
    assert failed == ["failed: fails (status 7)"]
    assert [line.partition("; ")[0] for line in absent] == ["not run: other python: it is not there"]
