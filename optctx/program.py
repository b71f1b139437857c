"""The program `optctx`. Imports the commands once an interrupt is one line."""

from __future__ import annotations

import atexit
import os
import signal
from collections.abc import Sequence
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM)


def main(argv: Sequence[str] | None = None) -> int:
    """Run `optctx.lab.command.main.main`. A signal before it ends the process at once, as nothing has begun.
    One after it leaves the exit status as it is, until the process is gone.
    """
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

    status = run(argv)
    return status


def _ignore() -> None:
    """Python's own end gives signals with handlers their default effect, which would be the exit status."""
    for each in _ENDING:
        signal.signal(each, signal.SIG_IGN)
