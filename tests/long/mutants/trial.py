"""One run of tests on the copy: what fails first, and how soon. A run that takes too long is ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from tests.long.mutants.replica import Replica

_GIVE_UP = 60  # seconds that a test may wait (tests/support/processes.py)
_MOST = 1800.0  # seconds; the core part takes two minutes, and on a busy machine ten
_OUTPUT = 2000  # characters that are shown of a run that came to nothing


class Outcome(NamedTuple):
    """`verdict`: "caught" by a test, "hang" (the run has taken too long), "missed", or "no run"."""

    verdict: str
    seconds: float
    test: str = ""  # that failed first
    output: str = ""  # of a hang, and of no run


def run_tests(replica: Replica, tests: Sequence[str], jobs: int, most: float = _MOST) -> Outcome:
    """Run tests until one has failed."""
    output = replica.tree.parent / "output"
    # On a process of its own, a test that dies is one that fails.
    ways = ("-p", "no:cacheprovider", "-n", str(jobs), "--maxfail=1")
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
    seconds, said = time.monotonic() - began, output.read_text(errors="replace")
    if status == 0:
        return Outcome("missed", seconds)
    failed = re.search(r"^(?:FAILED|ERROR) (\S+::\S+)", said, re.MULTILINE)  # no file that cannot be imported
    if status is None or failed is None:
        return Outcome("hang" if status is None else "no run", seconds, output=said[-_OUTPUT:])
    return Outcome("caught", seconds, failed[1])
