"""Flips bits of the bitcode in a file until stock llvmlite does not survive it. Prints that bitcode in hex.

A program that never imports optctx: python -m tests.optctx.links.damaged_bitcode FILE.
Prints nothing if LLVM survives all.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
import random
import signal
import sys
from functools import partial

from llvmlite import binding

from tests.support.forking import run_and_end

ATTEMPTS = 2000  # about one in thirty ends a process
MOST_FLIPS = 3
HEAD = 8  # bytes that say that it is bitcode
PATIENCE = 10  # seconds


def parse(data: bytes) -> None:
    signal.alarm(PATIENCE)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with contextlib.suppress(RuntimeError):
        binding.parse_bitcode(data)


def main() -> None:
    whole = pathlib.Path(sys.argv[1]).read_bytes()
    dice = random.Random(1)
    for _ in range(ATTEMPTS):
        damaged = bytearray(whole)
        for _ in range(dice.randint(1, MOST_FLIPS)):
            damaged[dice.randrange(HEAD, len(damaged))] ^= 1 << dice.randrange(8)
        child = os.fork()
        if not child:
            run_and_end(partial(parse, bytes(damaged)))
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGABRT, signal.SIGSEGV):
            print(damaged.hex())
            return


if __name__ == "__main__":
    main()
