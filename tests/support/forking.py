"""What a child of fork does. Imports nothing of optctx, so that programs without it can use it."""

from __future__ import annotations

import os
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NoReturn


def fork() -> int:
    """What `os.fork` gives, which warns of threads from Python 3.12 on: here they are what is tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def run_and_end(work: Callable[[], object]) -> NoReturn:
    """Run the work, then end this process at once: with status 0, or 1 and a traceback for what was raised.

    What a thread or a finaliser raises counts as well: pytest, whose hooks a child inherits, is not there.
    """
    raised: list[object] = []

    def note(unhandled: Any) -> None:
        raised.append(unhandled.exc_type)
        print(*traceback.format_exception(unhandled.exc_value), sep="", end="", file=sys.stderr)

    threading.excepthook = sys.unraisablehook = note
    try:
        work()
    except BaseException as error:  # nobody else would say what went wrong
        raised.append(error)
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(bool(raised))
