"""One run of tests on the copy: what fails first, and how soon. A run that stands still is ended."""

from __future__ import annotations

import contextlib
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from tests.long.mutants.replica import Replica

_LOOK = 0.2  # seconds between two looks at a run
_GIVE_UP = 60  # seconds that a test may wait (tests/support/processes.py)
_SILENCE = 180.0  # seconds; no test of the core part has a limit of its own that is longer
_START = 600.0  # seconds until the first test begins
_OUTPUT = 2000  # characters that are shown of a run that came to nothing


@dataclass(frozen=True)
class Outcome:
    """`verdict`: "caught" by a test, "hang" (none has begun or ended for too long), "missed", or "no run"."""

    verdict: str
    seconds: float  # of the run
    test: str = ""  # that failed first
    own_seconds: float = 0.0  # of that test
    failed: int = 0
    passed: int = 0
    output: str = ""  # of a hang, and of no run


def run_tests(
    replica: Replica, tests: Sequence[str], failures: int, jobs: int, silence: float = _SILENCE
) -> Outcome:
    """Run tests until so many have failed (0: all), or none has begun or ended for `silence` seconds."""
    output, results = (replica.tree.parent / name for name in ("output", "results.xml"))
    results.unlink(missing_ok=True)
    # Each test is a line of output. On a process of its own, one that dies is a test that fails.
    ways = ("-v", "-p", "no:cacheprovider", "-n", jobs, f"--junitxml={results}", f"--maxfail={failures}")
    command = (replica.python, "-m", "pytest", *ways, "-m", "not long", *tests)
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    began = time.time()
    with output.open("w") as file:
        pytest = subprocess.Popen(
            [*map(str, command)],
            cwd=replica.tree,
            env={**environment, "PYTHONUNBUFFERED": "1", "TESTS_SECONDS": str(_GIVE_UP)},
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            ended = _wait(pytest, output, silence)
        finally:
            _end(pytest)
    seconds, said = time.time() - began, output.read_text(errors="replace")[-_OUTPUT:]
    if not ended:
        return Outcome("hang", seconds, output=said)
    return _judge(results, pytest.returncode, seconds, said)


def _wait(pytest: subprocess.Popen[bytes], output: pathlib.Path, silence: float) -> bool:
    """Returns false where the run stands still."""
    while pytest.poll() is None:
        begun = b"::" in output.read_bytes()
        if time.time() - output.stat().st_mtime > (silence if begun else max(silence, _START)):
            return False
        time.sleep(_LOOK)
    return True


def _end(pytest: subprocess.Popen[bytes]) -> None:
    """With all that it has started and that has not left its session's group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pytest.pid, signal.SIGKILL)
    pytest.wait()


def _judge(results: pathlib.Path, status: int, seconds: float, said: str) -> Outcome:
    cases = list(ElementTree.parse(results).iter("testcase")) if results.exists() else []
    wrong = {case: problem for case in cases for problem in (*case.iter("failure"), *case.iter("error"))}
    if any(problem.get("message") == "collection failure" for problem in wrong.values()):
        return Outcome("no run", seconds, output=said)
    passed = len(cases) - len(wrong)
    if not wrong:  # with another status, pytest itself has failed
        ended = Outcome("no run", seconds, output=said)
        return ended if status else Outcome("missed", seconds, passed=passed)
    first = next(iter(wrong))
    test = f"{first.get('classname', '').replace('.', '/')}.py::{first.get('name')}"
    return Outcome("caught", seconds, test, float(first.get("time", 0)), len(wrong), passed)
