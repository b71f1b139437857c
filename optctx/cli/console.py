"""Standard streams, which may be a terminal, a pipe, a file on a full disk, or closed."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator
from typing import Any, TextIO

from rich.console import Console

__all__ = [
    "Output",
    "OutputError",
    "abandon",
    "complain",
    "flush_errors",
    "output",
    "prepare_streams",
    "printable",
]

_WIDE = 1000  # characters; tables are no wider than they need to be
_LONGEST = 4000  # characters of an error
_END = 500  # characters from the end of an error that is cut


class OutputError(Exception):
    """Standard output cannot be written; the message says why."""


class Output:
    """Standard output, with errors of its own type, to tell them from those of other files."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        with _telling():
            return self._stream.write(text)

    def flush(self) -> None:
        with _telling():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextlib.contextmanager
def _telling() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to standard output: {error.strerror}") from None


def output() -> Console:
    """A console on standard output, as wide as the terminal, or practically unlimited on a pipe."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDE)


def prepare_streams() -> None:
    """Make any text printable, and reserve the descriptors of closed streams.

    Otherwise a file that is opened later could get such a descriptor, and LLVM could print an error into it.
    `sys.stdin` and `sys.stdout` stay None if they are closed.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
    if sys.stderr is None:  # print() would write to standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # until the process ends
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # file names can be any bytes


def complain(text: str) -> None:
    """Print one line on standard error, if that is possible. Cuts a text that is longer than a screen."""
    text = " ".join(text.split())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - _END]} ... {text[-_END:]}"
    with contextlib.suppress(OSError):
        print(f"optctx: {text}", file=sys.stderr)
    flush_errors()


def flush_errors() -> None:
    """Flush standard error, or discard text that cannot be written."""
    try:
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def abandon(stream: object) -> None:
    """Discard text that a stream could not write. Python would try again at exit, and report an error."""
    if isinstance(stream, io.TextIOWrapper):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)


def printable(text: str) -> str:
    """The text with escapes for surrogates, which stand for bytes of file names that are not UTF-8."""
    return text.encode(errors="backslashreplace").decode()
