"""Where tables go: a terminal, or a pipe that takes every line whole."""

from __future__ import annotations

import sys

from rich.console import Console

__all__ = ["output"]

_WIDE = 1000  # characters; tables take no more than they need


def output() -> Console:
    """A console on standard output, as wide as the terminal, or without a limit to speak of on a pipe."""
    return Console() if sys.stdout.isatty() else Console(width=_WIDE)
