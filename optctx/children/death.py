"""How a process ended, and what it said last."""

from __future__ import annotations

import os
import re
import signal
from typing import Literal, get_args

import msgspec

from optctx.errors import clipped

_KEPT = 1 << 16  # bytes at the end of what a process printed
_LONGEST = 200  # characters of its last words, or of its last line
_LAST_WORDS = ("Assertion ", "UNREACHABLE executed", "LLVM ERROR: ", "std::bad_alloc")
_OF_MACHINE = (
    *(signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP),
    *(signal.SIGXCPU, signal.SIGXFSZ),
)
_MEMORY = re.compile(r"out of memory|std::bad_alloc")

# How a compilation ends, for results, trials and failures. failed: LLVM refused, with an error. crashed: its
# process ended, by a signal or a fatal error. killed: by another process, or a limit of the machine. lost:
# LLVM may not even have begun. wrong result: the code runs, and computes something else.
End = Literal["ok", "failed", "crashed", "timed out", "out of memory", "killed", "lost", "wrong result"]
ENDS: tuple[End, ...] = get_args(End)
OF_MACHINE: tuple[End, ...] = ("out of memory", "killed", "lost")  # of which LLVM is not the cause


class Death(msgspec.Struct, frozen=True, array_like=True):
    """The end of a child. It is called a death if the child did not answer.

    how: "ended" by itself, or by a signal; "timed out" if it was killed for that; "nonsense" if it wrote to
        its answers, and was killed; "lost" if it did not even begin, or nothing is known of it.
    status: Its exit status, or minus the signal; 0 if none is known.
    printed: The end of what it printed; for "lost" the reason.
    seconds: That it could take.
    """

    how: Literal["ended", "timed out", "nonsense", "lost"]
    status: int
    printed: str
    seconds: float | None = None

    def __str__(self) -> str:
        match self.how:
            case "timed out":
                return f"took longer than {self.seconds:g} s"
            case "nonsense":
                return "it wrote to a descriptor that is not its own"
            case "lost":
                return self.printed
        return cause_of_end(self.status, self.printed)

    @property
    def end(self) -> End:
        """What it is for a compilation."""
        match self.how:
            case "timed out" | "lost":
                return self.how
            case "nonsense":
                return "killed"
        said = last_words(self.printed)
        if _MEMORY.search(said or last_line(self.printed)):
            return "out of memory"
        return "killed" if not said and -self.status in _OF_MACHINE else "crashed"


def cause_of_end(status: int, printed: str) -> str:
    """Why a process ended: LLVM's last words, or how it ended, and all words. `status`: below 0 a signal."""
    try:
        end = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    except ValueError:  # a real-time signal
        end = f"killed by signal {-status}"
    words = " ".join(printed.split())
    return last_words(printed) or (f"{end}: {clipped(words)}" if words else end)


def last_words(printed: str) -> str:
    """The line that says why a process ended, without a source file's path before it. "" if there is none."""
    lines = [line.strip() for line in printed.splitlines()]
    for sign in _LAST_WORDS:
        for line in lines:
            if sign in line:
                return line[line.index(sign) :][:_LONGEST]
    return ""


def last_line(printed: str) -> str:
    """The last line of what a process printed. "" if it printed nothing."""
    return (printed.strip().splitlines() or [""])[-1][:_LONGEST].strip()


def printed_to(descriptor: int) -> str:
    """The end of what a process printed to a memory file."""
    size = os.fstat(descriptor).st_size
    kept = os.pread(descriptor, _KEPT, max(0, size - _KEPT))
    return kept.decode(errors="replace")
