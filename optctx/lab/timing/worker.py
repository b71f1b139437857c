"""A process that calls one object: a fork of the helper, on one processor, until it is told nothing more.

What the kernel does stays here: it may crash, hang, write anywhere, print and use up memory.
"""

from __future__ import annotations

import ctypes
import gc
import os
import resource
import signal
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from optctx.fresh.helper import STOP, address_space, end_with_parent
from optctx.fresh.limits import lower_limit
from optctx.fresh.protocol import encode, write_all
from optctx.lab.objects import ObjectError, load
from optctx.lab.timing.caller import TIMES, load_caller
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.memory import Place, place_arguments

__all__ = ["ORDER", "SAMPLE", "Kernel", "check_object", "compile_in_child", "serve_samples", "settle"]

ORDER = struct.Struct("<QB")  # calls; whether to make one before them
SAMPLE = struct.Struct("<qq")  # nanoseconds of processor time and of wall time

_MOST_WRITTEN = 1 << 28  # bytes of a file
_ROOM = 1 << 32  # bytes of address space beyond the helper's and the arrays'


@dataclass(frozen=True)
class Kernel:
    """What a worker calls. `caller`: the object that calls; `layout`: seeds where the arrays are; `shift`:
    bytes by which the code is moved; `filler`: the byte around arrays and below the stack.
    """

    harness: Harness
    contents: Sequence[bytes]  # of the arrays
    caller: bytes
    code: bytes
    layout: int
    shift: int
    filler: int


def settle(parent: int, processor: int | None, closing: Sequence[int], printed: int) -> None:
    """Make a new fork a worker: limited, quiet and on its processor."""
    end_with_parent(parent)
    for each in (signal.SIGTERM, signal.SIGHUP, STOP):
        signal.signal(each, signal.SIG_DFL)
    gc.disable()
    for descriptor in closing:
        os.close(descriptor)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.dup2(printed, 2)
    if processor is not None:
        os.sched_setaffinity(0, {processor})
    lower_limit(resource.RLIMIT_FSIZE, _MOST_WRITTEN)


def compile_in_child(harness: Harness, answers: int) -> NoReturn:
    """Answer with the object of the caller: LLVM is loaded here only, so that other forks stay small."""
    from optctx.lab.timing.caller import compile_caller

    write_all(answers, encode(compile_caller(harness)))
    os._exit(0)


class _Calls:
    """An object in memory with its arguments, ready to be called."""

    def __init__(self, kernel: Kernel) -> None:
        size = address_space() + _ROOM + 2 * sum(map(len, kernel.contents))
        lower_limit(resource.RLIMIT_AS, size)
        self._caller = load_caller(kernel.caller)
        self.place: Place = place_arguments(kernel.harness, kernel.contents, kernel.layout, kernel.filler)
        self._times: Any = (ctypes.c_int64 * TIMES)()
        self._filler = kernel.filler
        loaded = load(kernel.code, kernel.harness.libraries, kernel.shift)
        self._function = loaded.address(kernel.harness.entry)

    def call(self, calls: int) -> tuple[int, int]:
        """Nanoseconds of processor time and of wall time."""
        times = self._times
        self._caller(
            self._function, self.place.words, self.place.result, calls, ctypes.byref(times), self._filler
        )
        cpu, cpu_after, wall, wall_after = (
            times[i] * 1_000_000_000 + times[i + 1] for i in range(0, TIMES, 2)
        )
        return cpu_after - cpu, wall_after - wall


def check_object(kernel: Kernel, requests: int, answers: int) -> NoReturn:
    """Load and answer "", or why it cannot be loaded. Then call once and answer with the outputs."""
    calls = _load(kernel, answers)
    if calls is not None and os.read(requests, 1):
        calls.call(1)
        write_all(answers, encode(calls.place.outputs()))
    os._exit(0)


def serve_samples(kernel: Kernel, requests: int, answers: int) -> NoReturn:
    """Load and answer "", or why it cannot be loaded. Then take a sample for each order."""
    calls = _load(kernel, answers)
    if calls is None:
        os._exit(0)
    calls.call(1)
    calls.place.restore_changed_only()
    while len(order := os.read(requests, ORDER.size)) == ORDER.size:
        count, warm = ORDER.unpack(order)
        calls.place.restore()
        if warm:
            calls.call(1)
            calls.place.restore()
        write_all(answers, SAMPLE.pack(*calls.call(count)))
    os._exit(0)


def _load(kernel: Kernel, answers: int) -> _Calls | None:
    try:
        calls = _Calls(kernel)
    except ObjectError as error:
        write_all(answers, encode(f"it cannot be loaded: {error}"))
        return None
    except MemoryError:
        write_all(answers, encode("there is not enough memory for the arrays"))
        return None
    write_all(answers, encode(""))
    return calls
