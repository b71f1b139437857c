"""One run of tests on the copy: what fails first, and how soon. A run that takes too long is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple
from xml.etree import ElementTree

from tests.long.mutants.replica import Replica

_GIVE_UP = 60  # seconds that a test may wait (tests/support/processes.py)
_MOST = 1800.0  # seconds; the core part takes two minutes, and on a busy machine ten
_OUTPUT = 2000  # characters that are shown of a run that came to nothing


class Outcome(NamedTuple):
    """`verdict`: "caught" by a test, "hang" (the run has taken too long), "missed", or "no run"."""

    verdict: str
    seconds: float  # of the run
    test: str = ""  # that failed first
    own_seconds: float = 0.0  # of that test
    output: str = ""  # of a hang, and of no run


def run_tests(replica: Replica, tests: Sequence[str], jobs: int, most: float = _MOST) -> Outcome:
    """Run tests until one has failed."""
    output, results = (replica.tree.parent / name for name in ("output", "results.xml"))
    results.unlink(missing_ok=True)
    # On a process of its own, a test that dies is one that fails.
    ways = ("-v", "-p", "no:cacheprovider", "-n", str(jobs), f"--junitxml={results}", "--maxfail=1")
    command = (str(replica.python), "-m", "pytest", *ways, "-m", "not long", *tests)
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    began, status = time.monotonic(), None
    with (
        output.open("w") as file,
        subprocess.Popen(
            command,
            cwd=replica.tree,
            env={**environment, "TESTS_SECONDS": str(_GIVE_UP)},
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        ) as pytest,
    ):
        try:
            with suppress(subprocess.TimeoutExpired):
                status = pytest.wait(most)
        finally:  # with all that it has started and that has not left its session's group
            with suppress(ProcessLookupError):
                os.killpg(pytest.pid, signal.SIGKILL)
    seconds, said = time.monotonic() - began, output.read_text(errors="replace")[-_OUTPUT:]
    if status is None:
        return Outcome("hang", seconds, output=said)
    cases = list(ElementTree.parse(results).iter("testcase")) if results.exists() else []
    wrong = [(case, problem) for case in cases for problem in case if problem.tag in ("failure", "error")]
    if not wrong and not status:
        return Outcome("missed", seconds)
    if not wrong or any(problem.get("message") == "collection failure" for _, problem in wrong):
        return Outcome("no run", seconds, output=said)
    first = wrong[0][0]
    test = f"{first.get('classname', '').replace('.', '/')}.py::{first.get('name')}"
    return Outcome("caught", seconds, test, float(first.get("time", 0)))
