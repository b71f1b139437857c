"""The program `optctx`. Imports the commands once an interrupt is one line."""

from __future__ import annotations

import atexit
import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType

from optctx.lab.command.said import SAID, said_of

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `optctx.lab.command.main.main`. A signal before it ends the process at once, as nothing has begun.
    One after it leaves the exit status as it is, until the process is gone.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    if len(given) == 1 and given[0] in SAID and _say(given[0]):
        return 0
    status = -1

    def end(number: int, frame: FrameType | None) -> None:
        if status < 0:
            os.write(2, b"optctx: interrupted\n")
        os._exit(128 + number if status < 0 else status)

    atexit.register(_ignore)  # registered first, so it runs last
    for each in _ENDING:
        if signal.getsignal(each) is not signal.SIG_IGN:  # nohup, or a shell that runs it beside others
            signal.signal(each, end)
    from optctx.lab.command.main import main as run

    status = run(given)
    return status


def _ignore() -> None:
    """Python's own end gives signals with handlers their default effect, which would be the exit status."""
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)


def _say(flag: str) -> bool:
    """Answer without importing the commands. False where it cannot be printed."""
    try:
        sys.stdout.write(f"{said_of(flag)}\n")
        sys.stdout.flush()
    except (AttributeError, OSError, ImportError, ValueError):  # what runs the command says it better
        return False
    return True
