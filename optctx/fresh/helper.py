"""Starts and ends helper processes, which import the same modules as this process."""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import subprocess
from collections.abc import Callable
from types import FrameType

from optctx.fresh.limits import lower_limit
from optctx.fresh.python import python_command
from optctx.fresh.spawning import started_for_good

__all__ = [
    "STOP",
    "address_space",
    "answers_of_helper",
    "cause_of_end",
    "end_helper",
    "end_when_told",
    "end_with_parent",
    "is_cut",
    "is_of_machine",
    "last_line",
    "last_words",
    "printed_to",
    "start_helper",
]

STOP = signal.SIGUSR1  # tells a helper to end
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

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
_KEPT = 1 << 16  # bytes at the end of what a process printed
_LONGEST = 200  # characters of its last words, or of its last line
_LAST_WORDS = ("Assertion ", "UNREACHABLE executed", "LLVM ERROR: ", "std::bad_alloc")
_OF_MACHINE = re.compile(r"^killed by SIG(KILL|TERM|INT|HUP|XCPU|XFSZ)\b|out of memory|std::bad_alloc")


def start_helper(
    module: str, directory: str | None = None, printed: int | None = None
) -> subprocess.Popen[bytes]:
    """Run `main` of a module in a new process, with pipes to its standard input and output.

    `directory`: where it runs and puts temporary files, by default as this process. `printed`: the descriptor
    for its standard error, by default that of this process.
    """
    text = _START.format(module=module, parent=os.getpid(), ending=list(map(int, _ENDING)))

    def start() -> subprocess.Popen[bytes]:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
        try:
            return subprocess.Popen(
                python_command(text),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                cwd=directory,
                env=None if directory is None else {**os.environ, "TMPDIR": directory},
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    return started_for_good(start)


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


def end_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent `parent` ends. Exit now if it has ended."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
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


def address_space() -> int:
    """The size of this process's address space, in bytes."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[0]) * resource.getpagesize()


def printed_to(descriptor: int) -> str:
    """The end of what a process printed to a memory file."""
    size = os.fstat(descriptor).st_size
    kept = os.pread(descriptor, _KEPT, max(0, size - _KEPT))
    return kept.decode(errors="replace")


def is_cut(descriptor: int) -> bool:
    """Whether a memory file is as long as this process may make it, so that its end may be missing."""
    most, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    return most != resource.RLIM_INFINITY and os.fstat(descriptor).st_size >= most


def last_words(printed: str) -> str:
    """The line that says why a process ended, without a source file's path before it. "" if there is none."""
    lines = [line.strip() for line in printed.splitlines()]
    for sign in _LAST_WORDS:
        for line in lines:
            if sign in line:
                return line[line.index(sign) :][:_LONGEST]
    return ""


def cause_of_end(status: int, printed: str) -> str:
    """Why a process ended: LLVM's last words, or how it ended."""
    try:
        end = f"killed by {signal.Signals(-status).name}" if status < 0 else f"exited with status {status}"
    except ValueError:  # a real-time signal
        end = f"killed by signal {-status}"
    return last_words(printed) or f"{end}{last_line(printed)}"


def is_of_machine(cause: str) -> bool:
    """Whether memory or time was short, or another process killed this one: LLVM itself did not end it."""
    return _OF_MACHINE.search(cause) is not None


def last_line(printed: str) -> str:
    """ ": " and the last line of what a process printed. "" if it printed nothing."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return f": {lines[-1][:_LONGEST]}" if lines else ""
