"""What a child of fork does. Imports nothing of optctx, so that programs without it can use it."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

__all__ = ["run_and_end"]


def run_and_end(work: Callable[[], object]) -> NoReturn:
    """Run the work, then end this process at once: with status 0, or 1 and a traceback if the work raised."""
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # nobody else would say what went wrong
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)
