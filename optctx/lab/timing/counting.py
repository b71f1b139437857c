"""A process that calls one object a number of times and ends, for tools that count, such as callgrind."""

from __future__ import annotations

import base64
import ctypes
import os
import sys

from optctx.children.python import python_command
from optctx.errors import OptctxError
from optctx.lab.objects import ObjectError
from optctx.lab.timing.arrays import array_bytes
from optctx.lab.timing.caller import compile_caller
from optctx.lab.timing.harness import Harness
from optctx.lab.timing.worker import Kernel
from optctx.lab.timing.x86_64.callgrind import COUNTED

_RUN = "from optctx.lab.timing.counting import main; sys.exit(main(sys.argv[1:]))"


def run_command(harness: Harness, object_path: str | os.PathLike[str], calls: int) -> list[str]:
    """A command that loads an object and calls the entry point exactly that many times.

    callgrind counts these calls alone if it is started with --instr-atstart=no. What one call costs is the
    difference of two runs, divided by that of their numbers of calls. Inputs are restored by nothing in
    between. LLVM compiles the code that calls now, in a fresh process.
    """
    if calls < 1:
        raise OptctxError(f"expected a positive number of calls, found {calls}")
    caller = base64.b64encode(compile_caller(harness, COUNTED)).decode()
    path = os.path.abspath(os.fsdecode(object_path))
    return python_command(_RUN, harness.dumps(), caller, path, str(calls))


def main(arguments: list[str]) -> int:
    """Harness in TOML, caller in base 64, path of the object, calls. 1: the object cannot be loaded."""
    text, caller, path, calls = arguments
    harness = Harness.loads(text)
    contents = [array_bytes(array) for array in harness.arrays]
    try:
        with open(path, "rb") as file:
            kernel = Kernel(harness, contents, base64.b64decode(caller), file.read())
    except (OSError, ObjectError) as error:
        print(f"cannot load {path}: {error}", file=sys.stderr)
        return 1
    kernel.call(int(calls))
    ctypes.CDLL(None).fflush(None)  # what the object has printed
    os._exit(0)
