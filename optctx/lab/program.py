"""Programs that get an object: run with a limit of time, and ended with all that they started."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from optctx.children.death import End
from optctx.errors import OptctxError, shown

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")  # of C and C++, for clang
_OBJECT = "{object}"
_LAST = 200  # characters of what a program printed, in an error


def object_words(command: str) -> list[str]:
    """Split a command as a shell would split it. `{object}` stands in it for the path of an object.

    No shell runs it. Raises OptctxError for a command without that, and for a program that does not exist.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise OptctxError(f"cannot read the command {shown(command)}: {error}") from None
    if not any(_OBJECT in word for word in words):
        raise OptctxError(
            f"expected a command with '{_OBJECT}' in it, where the object's path stands, found "
            f"{shown(command)}"
        )
    if shutil.which(words[0]) is None:
        raise OptctxError(f"cannot run the command {shown(command)}: there is no program {shown(words[0])}")
    return words


class NoNumberError(Exception):
    """A program gave no number. `state`: of its trial; the message says why."""

    def __init__(self, state: End, words: str) -> None:
        super().__init__(words)
        self.state: End = state


def with_object(words: Sequence[str], path: str) -> list[str]:
    """The words of a command for the object at a path."""
    return [word.replace(_OBJECT, path) for word in words]


@dataclass(frozen=True)
class Ran:
    """What came of a program. `status`: None if it took longer than it may. `out` and `err`: if captured."""

    status: int | None
    out: str = ""
    err: str = ""


class Programs:
    """Runs programs, on any threads. Each is in a session of its own, and killed with all that it started.

    A context manager: leaving it ends those that run, and has others not begin.
    """

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._left = False

    def __enter__(self) -> Programs:
        return self

    def __exit__(self, *error: object) -> None:
        self._left = True
        for process in list(self._running):
            _kill(process)

    def run(self, words: Sequence[str], seconds: float, *, captured: bool = False) -> Ran:
        """Run a program. Raises OptctxError if it cannot be started."""
        stream = subprocess.PIPE if captured else subprocess.DEVNULL
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                text=True,
                errors="replace",
                env={**os.environ, "PYTHONHASHSEED": "0"},
                start_new_session=True,
            )
        except OSError as error:
            raise OptctxError(f"cannot run {shown(words[0])}: {error.strerror}") from None
        with process:
            self._running.add(process)
            try:
                out, err = ("", "") if self._left else process.communicate(timeout=seconds)
                return Ran(process.returncode, out or "", err or "")
            except subprocess.TimeoutExpired:
                return Ran(None)
            finally:
                _kill(process)
                self._running.discard(process)


def tail(text: str) -> str:
    """The end of what a program printed, in a line."""
    return " ".join(text.split())[-_LAST:] or "it printed nothing"


def number_of(programs: Programs, words: Sequence[str], seconds: float) -> float:
    """The number that a program prints last. Raises NoNumberError if there is none, and how it ended."""
    try:
        ran = programs.run(words, seconds, captured=True)
    except OptctxError as error:
        raise NoNumberError("failed", str(error)) from None
    if ran.status is None:
        raise NoNumberError("timed out", f"{shown(words[0])} took longer than {seconds:g} s")
    if ran.status:
        raise NoNumberError("failed", f"the command ended with status {ran.status}: {tail(ran.err)}")
    printed = ran.out.split()
    with contextlib.suppress(ValueError):
        if printed and math.isfinite(number := float(printed[-1])):
            return number
    raise NoNumberError("failed", f"the command printed no number last: {tail(ran.out)}")


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
