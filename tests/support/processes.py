"""Processes that tests start: which are alive, and waiting for what they do."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable

from support import SECONDS

# The command, where whoever started the tests ignores the signal, as shells do for what runs beside them.
LISTENING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from optctx.cli.main import main
sys.exit(main())
"""


def of_session(session: int) -> list[str]:
    """Processes of a session that are alive, as the system describes them."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:  # it ended meanwhile
            continue
        state, _, _, own = text.rsplit(")", 1)[1].split()[:4]
        if int(own) == session and state != "Z":
            found.append(text)
    return found


def wait_for(holds: Callable[[], bool]) -> None:
    """Until a condition holds."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def too_long(work: Callable[[], object]) -> float:
    """Seconds that the work never takes, as busy as the machine is now: a limit that a hang alone reaches."""
    begun = time.monotonic()
    work()
    return round(2 + 50 * (time.monotonic() - begun), 1)


def wait_until_asleep(thread: int, process: int | str = "self") -> None:
    """Until a thread waits for something that this one does not do: looks in a row find it asleep.

    `thread`: as the system numbers them. One that wants the interpreter gets it between two looks.
    """
    status = pathlib.Path(f"/proc/{process}/task/{thread}/stat")
    asleep = 0

    def looked() -> bool:
        nonlocal asleep
        state = status.read_text().rpartition(")")[2].split()[0]
        asleep = asleep + 1 if state == "S" else 0
        return asleep == 10

    wait_for(looked)
