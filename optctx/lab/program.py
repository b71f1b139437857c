"""A program that gets an object: run with a limit of time, and ended with all that it started."""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from typing import Self

from optctx.children.death import End
from optctx.errors import OptctxError, shown

SOURCES = (".c", ".cc", ".cpp", ".cxx", ".c++", ".C")  # of C and C++, for clang
_OBJECT = "{object}"
_LAST = 200  # characters of what a program printed, in an error


def words_of(what: str, text: str) -> list[str]:
    """Split a text as a shell would. Raises OptctxError, with what it is, for one that cannot be split."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise OptctxError(f"cannot use {what} {shown(text)}: {error}") from None


class NoNumberError(Exception):
    """A program gave no number. `state`: of its trial; the message says why."""

    def __init__(self, state: End, words: str) -> None:
        super().__init__(words)
        self.state: End = state


class Program:
    """A command such as "PROGRAM {object}", split as a shell would split it. No shell runs it.

    It runs on any threads, each time with the path of an object in place of `{object}`, in a session of its
    own, and is killed with all that it started. A context manager: leaving it ends those that run, and has
    others not begin. Raises OptctxError for a command without an object, and for a program that does not
    exist.
    """

    def __init__(self, command: str) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._left = False
        self._words = words_of("the command", command)
        if not any(_OBJECT in word for word in self._words):
            raise OptctxError(
                f"expected a command with '{_OBJECT}' in it, where the object's path stands, found "
                f"{shown(command)}"
            )
        if shutil.which(self._words[0]) is None:
            raise OptctxError(
                f"cannot run the command {shown(command)}: there is no program {shown(self._words[0])}"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._left = True
        for process in list(self._running):
            _kill(process)

    def accepts(self, code: bytes, seconds: float) -> bool:
        """Whether it exits with status 0 for an object. Raises OptctxError if it cannot be started."""
        return self._run(code, seconds, subprocess.DEVNULL)[0] == 0

    def number(self, code: bytes, seconds: float) -> float:
        """The number that it prints last. Raises NoNumberError if there is none, and how it ended."""
        try:
            status, out, err = self._run(code, seconds, subprocess.PIPE)
        except OptctxError as error:
            raise NoNumberError("failed", str(error)) from None
        if status is None:
            raise NoNumberError("timed out", f"{shown(self._words[0])} took longer than {seconds:g} s")
        if status:
            raise NoNumberError("failed", f"the command ended with status {status}: {_tail(err)}")
        printed = out.split()
        with contextlib.suppress(ValueError):
            if printed and math.isfinite(number := float(printed[-1])):
                return number
        raise NoNumberError("failed", f"the command printed no number last: {_tail(out)}")

    def _run(self, code: bytes, seconds: float, stream: int) -> tuple[int | None, str, str]:
        """(exit status, None if it took longer than it may; what it printed to `stream`, twice)."""
        with tempfile.TemporaryDirectory(prefix="optctx-", ignore_cleanup_errors=True) as folder:
            path = os.path.join(folder, "object.o")
            with open(path, "wb") as file:
                file.write(code)
            words = [word.replace(_OBJECT, path) for word in self._words]
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
                    return process.returncode, out or "", err or ""
                except subprocess.TimeoutExpired:
                    return None, "", ""
                finally:
                    _kill(process)
                    self._running.discard(process)


def _tail(text: str) -> str:
    """The end of what a program printed, in a line."""
    return " ".join(text.split())[-_LAST:] or "it printed nothing"


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
