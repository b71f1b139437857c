"""Compilations that never end and take no processor time: LLVM reads from a pipe that nothing writes to."""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator

from tests.support.processes import wait_for

LIST = "chr-module-list"  # names a file that the pass `chr` reads; LLVM ends the process if there is none
SCALED = "default<O2>,function(chr)"


def endless(folder: pathlib.Path) -> str:
    """Make the pipe. A compilation with `chr` and this value of LIST waits."""
    os.mkfifo(folder / "pipe")
    return str(folder / "pipe")


@contextlib.contextmanager
def reached(pipe: str) -> Iterator[int]:
    """Wait until code reads from the pipe, where it waits to the end of the block.

    Gives a descriptor to write to the pipe.
    """
    opened: list[int] = []

    def reads() -> bool:
        with contextlib.suppress(OSError):  # ENXIO: nothing reads
            opened.append(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        return bool(opened)

    wait_for(reads)
    try:
        yield opened[0]
    finally:
        os.close(opened[0])
