"""One run of tests on the copy: what fails first, and how soon. A run that stands still is ended."""

from __future__ import annotations

import contextlib
import json
import os
import pathlib
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.long.mutants.progress import BEGINS, ENDS, FAILS, FILE
from tests.long.mutants.replica import Replica

__all__ = ["Outcome", "run_tests"]

_LOOK = 0.2  # seconds between two looks at a run
_SILENCE = 180.0  # seconds; no test of the core part has a limit of its own that is longer
_START = 600.0  # seconds until the first test begins
_OUTPUT = 2000  # characters that are shown of a run that came to nothing


@dataclass(frozen=True)
class Outcome:
    """`verdict`: "caught" by a test, "hang" (no test has ended for too long), "missed", or "no run"."""

    verdict: str
    seconds: float  # until the first failure; of the whole run without one
    test: str = ""  # that failed first; those that were running, of a hang
    own_seconds: float = 0.0  # of that test
    failed: int = 0
    passed: int = 0
    output: str = ""


@dataclass(frozen=True)
class _Event:
    at: float
    what: str
    test: str
    seconds: float


def run_tests(
    replica: Replica, tests: Sequence[str], failures: int, jobs: int, silence: float = _SILENCE
) -> Outcome:
    """Run tests until so many have failed (0: all), or none has begun or ended for `silence` seconds."""
    progress = replica.tree.parent / "progress"
    progress.write_text("")
    output = replica.tree.parent / "output"
    plugins = ("-p", "no:cacheprovider", "-p", "tests.long.mutants.progress")
    chosen = ("-m", "not cluster and not long", f"--maxfail={failures}", *tests)
    command = (replica.python, "-m", "pytest", "-q", *plugins, "-n", jobs if jobs > 1 else 0, *chosen)
    left_out = ("PYTHONPATH", "VIRTUAL_ENV", "PYTEST_ADDOPTS")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    began = time.time()
    with output.open("w") as file:
        pytest = subprocess.Popen(
            [*map(str, command)],
            cwd=replica.tree,
            env={**environment, FILE: str(progress)},
            stdout=file,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            ended = _wait(pytest, progress, silence)
        finally:
            _end(pytest)
    return _judge(_events(progress), began, pytest.returncode if ended else None, output)


def _wait(pytest: subprocess.Popen[bytes], progress: pathlib.Path, silence: float) -> bool:
    """Returns false where the run stands still."""
    while pytest.poll() is None:
        found = progress.stat()
        if time.time() - found.st_mtime > (silence if found.st_size else max(silence, _START)):
            return False
        time.sleep(_LOOK)
    return True


def _end(pytest: subprocess.Popen[bytes]) -> None:
    """With all that it has started and that has not left its session's group."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pytest.pid, signal.SIGKILL)
    pytest.wait()


def _events(progress: pathlib.Path) -> list[_Event]:
    return [_Event(*json.loads(line)) for line in progress.read_text().splitlines() if line.endswith("]")]


def _judge(events: list[_Event], began: float, status: int | None, output: pathlib.Path) -> Outcome:
    failures = [each for each in events if each.what == FAILS]
    failed = {each.test for each in failures}
    ended = {each.test for each in events if each.what == ENDS}
    passed = len(ended - failed)
    if failures and ended:
        first = failures[0]
        return Outcome("caught", first.at - began, first.test, first.seconds, len(failed), passed)
    seconds = time.time() - began
    running = [each for each in events if each.what == BEGINS and each.test not in ended]
    if status is None:
        return Outcome("hang", seconds, ", ".join(each.test for each in running), passed=passed)
    if status and running:  # the process of pytest itself has died in it
        last = running[-1]
        return Outcome("caught", seconds, last.test, began + seconds - last.at, 1, passed)
    if status == 0:
        return Outcome("missed", seconds, passed=passed)
    return Outcome("no run", seconds, output=output.read_text()[-_OUTPUT:])
