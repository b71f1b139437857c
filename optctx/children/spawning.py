"""Starts and ends processes of Python, which import what this process imports and end with it."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
from collections.abc import Callable
from types import FrameType

from optctx.children.limits import lower_limit
from optctx.children.python import python_command

__all__ = [
    "ENDING",
    "STOP",
    "answers_of_helper",
    "end_helper",
    "end_when_told",
    "end_with_parent",
    "popen",
]

STOP = signal.SIGUSR1  # tells a helper to end
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# The helper ignores what ends a whole group of processes: the one that started it handles that. Until then
# these signals are blocked, because Python's own start would print a traceback. It does nothing for a process
# that has ended while it was imported.
_START = (
    "import os, signal; "
    "[signal.signal(each, signal.SIG_IGN) for each in {ending}]; "
    "signal.pthread_sigmask(signal.SIG_UNBLOCK, {ending}); "
    "from {module} import main; os.getppid() == {parent} or os._exit(1); sys.exit(main())"
)
_PR_SET_PDEATHSIG = 1


def popen(module: str, printed: int | None = None) -> subprocess.Popen[bytes]:
    """Run `main` of a module in a new process, with pipes to its standard input and output.

    The kernel ends the process with the thread that calls this. `printed`: the descriptor for its standard
    error, by default that of this process.
    """
    text = _START.format(module=module, parent=os.getpid(), ending=list(map(int, ENDING)))
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    try:
        return subprocess.Popen(
            python_command(text),
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_helper(helper: subprocess.Popen[bytes], grace: float) -> None:
    """Wait for a helper that was told to end. Kill it after `grace` seconds."""
    try:
        helper.wait(grace)
    except subprocess.TimeoutExpired:
        helper.kill()  # the kernel then kills its children
        helper.wait()


def end_when_told(clean: Callable[[], object]) -> None:
    """Have STOP call `clean` and end this process, at any moment: an exception of a handler could be lost."""
    own = os.getpid()

    def end(number: int, frame: FrameType | None) -> None:
        try:
            if os.getpid() == own:  # a fork that is told so just ends
                clean()
        finally:
            os._exit(0)

    signal.signal(STOP, end)


def end_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent `parent` ends. Exit now if it has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def answers_of_helper() -> int:
    """Prepare this process as a helper. Return the descriptor of its answers, the original standard output.

    No other code writes there: what is printed goes to standard error. The process ends with its parent, and
    a crash leaves no core file, because it is an answer.
    """
    end_with_parent(os.getppid())
    answers = os.dup(1)
    os.dup2(2, 1)
    lower_limit(resource.RLIMIT_CORE, 0)
    return answers
