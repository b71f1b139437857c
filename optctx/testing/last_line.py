"""Prints LLVM's last line if LLVM ends the process that runs the tests.

pytest captures what a test prints in an unnamed file, which disappears with the process. A second process
also holds that file open, waits for the end of the first, and prints the line.
"""

from __future__ import annotations

import os
import select
import stat
import subprocess

from optctx.children.death import last_words, printed_to
from optctx.children.python import python_command

# The second process ignores Ctrl-C, which the process that runs the tests handles.
_START = (
    "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    "from {module} import main; main(*map(int, sys.argv[1:]))"
)
_LONGEST = 4096  # bytes of a test's name


class Witness:
    """The second process, started by the first test that it sees. Enter it while pytest captures nothing.

    There is none where the system refuses what it needs: `pidfd_open` is of Linux 5.3, and a container can
    forbid it.
    """

    def __enter__(self) -> Witness:
        self._process: subprocess.Popen[bytes] | None = None
        self._descriptors: tuple[int, ...] = ()
        try:
            ended = os.pidfd_open(os.getpid())
        except (AttributeError, OSError):  # a Python that was built on an older system has no such function
            return self
        self._running = os.memfd_create("running")
        self._descriptors = (ended, self._running, os.dup(2))
        return self

    def __exit__(self, *error: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        for descriptor in self._descriptors:
            os.close(descriptor)

    def sees(self, test: str) -> None:
        """Note the test that runs from now on. The first call hands over the captured standard error."""
        if not self._descriptors:
            return
        os.ftruncate(self._running, 0)
        os.pwrite(self._running, test.encode()[:_LONGEST], 0)
        # With -s nothing is captured: LLVM's words are already visible.
        if self._process is None and stat.S_ISREG(os.fstat(2).st_mode):
            self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            python_command(_START.format(module=__name__), *map(str, self._descriptors)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=self._descriptors,
        )


def main(ended: int, running: int, terminal: int) -> None:
    """Wait for the end, then print the last line of the captured file, which is standard error here."""
    select.select([ended], [], [])
    printed = printed_to(2)
    test = os.pread(running, _LONGEST, 0).decode(errors="replace")
    lines = printed.split("\n")
    line = last_words(printed) or next(
        (line for line in reversed(lines) if line.strip()), "it printed nothing"
    )
    os.write(terminal, f"\noptctx: the process ended in {test}: {line}\n".encode())
