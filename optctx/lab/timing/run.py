"""A process that calls one object a number of times and ends, for tools that count what a process does."""

from __future__ import annotations

import base64
import ctypes
import os
import sys

from optctx.lab.objects import ObjectError, load
from optctx.lab.timing.caller import TIMES, load_caller
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.inputs import array_bytes
from optctx.lab.timing.memory import place_arguments
from optctx.lab.timing.x86_64.callgrind import counted_calls

__all__ = ["main"]


def main(arguments: list[str]) -> int:
    """Harness in TOML, caller in base 64, path of the object, calls. 1: the object cannot be loaded."""
    text, caller, path, calls = arguments
    harness = Harness.loads(text)
    place = place_arguments(harness, [array_bytes(array) for array in harness.arrays], 0, 0)
    try:
        with open(path, "rb") as file:
            function = load(file.read(), harness.libraries).address(harness.entry)
    except (OSError, ObjectError) as error:
        print(f"cannot load {path}: {error}", file=sys.stderr)
        return 1
    times = (ctypes.c_int64 * TIMES)()
    run = counted_calls(load_caller(base64.b64decode(caller)))
    run(function, place.words, place.result, int(calls), ctypes.byref(times), 0)
    ctypes.CDLL(None).fflush(None)  # what the object has printed
    os._exit(0)
