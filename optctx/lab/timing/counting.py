"""Commands for tools that count what a process does, such as callgrind."""

from __future__ import annotations

import base64
import os

from optctx.children.python import python_command
from optctx.context import OptionContext
from optctx.errors import OptctxError
from optctx.lab.timing.caller import compile_caller
from optctx.lab.timing.harness import Harness

__all__ = ["run_command"]

_RUN = "from optctx.lab.timing.run import main; sys.exit(main(sys.argv[1:]))"


def run_command(harness: Harness, object_path: str | os.PathLike[str], calls: int) -> list[str]:
    """A command that loads an object and calls the entry point exactly that many times.

    callgrind counts these calls alone if it is started with --instr-atstart=no. What one call costs is the
    difference of two runs, divided by that of their numbers of calls. Inputs are restored by nothing in
    between. LLVM compiles the code that calls now, in this process, with the option values that no context
    changes.
    """
    if calls < 1:
        raise OptctxError(f"expected a positive number of calls, found {calls}")
    with OptionContext(base="defaults"):
        caller = base64.b64encode(compile_caller(harness)).decode()
    path = os.path.abspath(os.fsdecode(object_path))
    return python_command(_RUN, harness.dumps(), caller, path, str(calls))
