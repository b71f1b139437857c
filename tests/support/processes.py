"""Processes that tests start: running them to their end, which are alive, and waiting for what they do."""

from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from typing import Any, ParamSpec

from tests.support.forking import fork, run_and_end

P = ParamSpec("P")

# When a test gives up on what hangs. The longest one takes 13 s by itself, and passes on a machine that is
# three times slower and has ten other processes at work for each processor. `make mutants` gives up sooner.
SECONDS = float(os.environ.get("TESTS_SECONDS", 900))

# Of the processes that tests start, as of the tests themselves (pyproject.toml).
WARNINGS = ("-W", "error", "-W", "ignore:an option was set inside a scope:UserWarning")


def run_python(script: str, *arguments: str) -> str:
    """What a script prints, run in a process of its own that must end well and complain about nothing."""
    return _output_of(python_process("-c", textwrap.dedent(script), *arguments))


def output_of(*command: object, **more: Any) -> str:
    """What a program prints, which must end well and complain about nothing. `more`: for subprocess."""
    words = [str(word) for word in command]
    given: Any = words[0] if more.get("shell") else words
    return _output_of(subprocess.run(given, capture_output=True, text=True, **{"timeout": SECONDS, **more}))


def _output_of(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stderr) == (0, ""), f"status {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def python_process(*arguments: str, seconds: float = SECONDS) -> subprocess.CompletedProcess[str]:
    """Python, run to its end with these arguments in the project's folder; warnings are errors."""
    return subprocess.run(
        [sys.executable, *WARNINGS, *arguments],
        cwd=pathlib.Path(__file__).parents[2],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)},
        capture_output=True,
        text=True,
        timeout=seconds,
    )


def in_child(work: Callable[[], object]) -> None:
    """Runs the work in a child of fork, which has to end well."""
    if not (pid := fork()):
        run_and_end(work)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def forked(test: Callable[P, object]) -> Callable[P, None]:
    """Run a test in a child of fork, which has to end well: what it changes of the process ends with it."""

    @functools.wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        in_child(functools.partial(test, *arguments, **named))

    return run


def of_session(session: int) -> list[str]:
    """Processes of a session that are alive, as the system describes them."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:  # it ended meanwhile
            continue
        state, _, _, own = text.rsplit(")", 1)[1].split()[:4]
        if int(own) == session and state != "Z":
            found.append(text)
    return found


def children_of(process: int) -> list[int]:
    """The children that its main thread has started."""
    file = pathlib.Path(f"/proc/{process}/task/{process}/children")
    return [int(each) for each in file.read_text().split()]


def handler_of(number: int) -> tuple[bytes, int]:
    """What sigaction(2) says of a signal: handler, mask, flags."""
    action = ctypes.create_string_buffer(152)
    assert ctypes.CDLL(None).sigaction(number, None, action) == 0
    flags = int.from_bytes(action.raw[136:140], "little") & ~0x04000000  # without the C library's own
    return action.raw[:16], flags  # 64 signals; the rest of the mask is not filled in


def use_small_pages() -> None:
    """Have the kernel give this process no huge pages, whose memory counts whenever it decides to."""
    assert ctypes.CDLL(None).prctl(41, 1, 0, 0, 0) == 0  # PR_SET_THP_DISABLE


def wait_for(holds: Callable[[], bool]) -> None:
    """Until a condition holds."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def too_long(work: Callable[[], object]) -> float:
    """Return seconds that the work never takes, as busy as the machine is: only a hang takes longer."""
    work()  # which may start a process first
    begun = time.monotonic()
    work()
    return round(1 + 50 * (time.monotonic() - begun), 1)


def wait_until_asleep(thread: int, process: int | str = "self") -> None:
    """Until a thread waits for something that this one does not do: looks in a row find it asleep.

    `thread`: as the system numbers them. One that wants the interpreter gets it between two looks.
    """
    status = pathlib.Path(f"/proc/{process}/task/{thread}/stat")
    asleep = 0

    def looked() -> bool:
        nonlocal asleep
        state = status.read_text().rpartition(")")[2].split()[0]
        asleep = asleep + 1 if state == "S" else 0
        return asleep == 10

    wait_for(looked)


def printed(work: Callable[[], object]) -> list[str]:
    """Lines that reach this process's standard error meanwhile."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            work()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode().splitlines()
