"""How helper processes begin, and end with the process that started them."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from collections.abc import Callable
from types import FrameType

from optctx.children.limits import lower_limit

STOP = signal.SIGUSR1  # tells a helper to end
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_PR_SET_PDEATHSIG = 1


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
