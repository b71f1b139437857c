"""Start a helper process that imports what this process imports, and the limits that such processes set."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import sys

__all__ = ["address_space", "end_helper", "end_with_parent", "last_words", "printed_to", "start_helper"]

# Ctrl-C is for the process that asked. The helper finds the very modules that this process found, wherever it
# was started.
_START = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = {path!r}; "
    "from {module} import main; sys.exit(main())"
)
_PR_SET_PDEATHSIG = 1
_KEPT = 1 << 16  # bytes of what a process printed
_LONGEST = 200  # characters of its last words
_LAST_WORDS = ("Assertion ", "UNREACHABLE executed", "LLVM ERROR: ", "std::bad_alloc")


def start_helper(
    module: str, directory: str | None = None, printed: int | None = None
) -> subprocess.Popen[bytes]:
    """Run `main` of a module in a new process, with pipes to its standard input and output.

    `directory`: where it runs and puts temporary files; by default where this process does. `printed`: what
    takes its standard error; by default that of this process.
    """
    path = [os.path.abspath(entry) for entry in sys.path]
    return subprocess.Popen(
        [sys.executable, "-c", _START.format(path=path, module=module)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=printed,
        cwd=directory,
        env=None if directory is None else {**os.environ, "TMPDIR": directory},
    )


def end_helper(helper: subprocess.Popen[bytes], grace: float) -> None:
    """Wait for a helper that was told to end; kill it after `grace` seconds."""
    try:
        helper.wait(grace)
    except subprocess.TimeoutExpired:
        helper.kill()  # the kernel ends what it forked
        helper.wait()


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent `parent` ends. Exit now if it has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def address_space() -> int:
    """Bytes that this process has mapped."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


def printed_to(descriptor: int) -> str:
    """The end of a memory file that took a process's standard streams."""
    size = os.fstat(descriptor).st_size
    kept = os.pread(descriptor, _KEPT, max(0, size - _KEPT))
    return kept.decode(errors="replace")


def last_words(printed: str) -> str:
    """The line that says why a process ended, without the source file before it; "" if there is none."""
    lines = [line.strip() for line in printed.splitlines()]
    for sign in _LAST_WORDS:
        for line in lines:
            if sign in line:
                return line[line.index(sign) :][:_LONGEST]
    return ""
