"""Signals whose handler raises while modules come and go.

    python -m tests.optctx.hosts.interrupted_modules SEED

Stock llvmlite (without the import of optctx) ends with a segmentation fault. If an exception arrives between
the making of a module and the `with` statement that would close it, the LLVMContext is closed first.
"""

from __future__ import annotations

import random
import signal
import sys
import warnings
from types import FrameType

from llvmlite import binding
from llvmlite.binding import ffi

import optctx


class InterruptError(BaseException):
    pass


def handle(number: int, frame: FrameType | None) -> None:
    while frame is not None:
        if frame.f_code.co_filename == ffi.__file__:  # llvmlite's lock, and its `close`, do not survive one
            signal.setitimer(signal.ITIMER_REAL, 0.0001)
            return
        frame = frame.f_back
    raise InterruptError


def work() -> None:
    with (
        binding.create_context() as context,
        binding.parse_assembly("define void @f() { ret void }", context),
    ):
        pass


def main(seed: str) -> None:
    warnings.simplefilter("ignore")
    sys.unraisablehook = lambda _: None  # llvmlite's objects complain when they were interrupted half-made
    optctx.attach()
    signal.signal(signal.SIGALRM, handle)
    times = random.Random(int(seed))
    interrupts = 0
    while interrupts < 300:
        try:
            signal.setitimer(signal.ITIMER_REAL, times.uniform(1e-5, 4e-4))
            try:
                for _ in range(3):
                    work()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except InterruptError:
            interrupts += 1
    print("alive")


if __name__ == "__main__":
    main(*sys.argv[1:])
