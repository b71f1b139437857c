"""LLVM's debug output: jobs that print some, what is printed, and LLVM's flag."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections.abc import Callable
from dataclasses import replace

from optctx.compiling import FreshProcess, Job
from optctx.engine.attach import attach
from tests.support.ir_texts import X86

# What does not change in the loop is taken out of it.
INVARIANT = """
define void @fill(ptr noalias %out, i64 %n, i64 %x) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %square = mul i64 %x, %x
  %value = add i64 %square, 7
  %to = getelementptr i64, ptr %out, i64 %i
  store i64 %value, ptr %to
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
"""

PLAIN = Job(INVARIANT, "function(loop-simplify,loop-mssa(licm))", triple=X86, emit="ir")
DEBUGGED = replace(PLAIN, options=("-debug",))


def printed(work: Callable[[], object]) -> list[str]:
    """Lines that reach this process's standard error meanwhile."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(2)
        os.dup2(file.fileno(), 2)
        try:
            work()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode().splitlines()


def flag() -> bool:
    """LLVM's own, which is up for the whole process or not."""
    return bool(ctypes.c_uint8.from_address(attach().options["debug"].variable).value)


def of_the_pass(found: list[str]) -> list[str]:
    """Without what is said of the processor when a target machine is made."""
    return [line for line in found if line.startswith("LICM")]


def told(fresh: FreshProcess, *options: str) -> list[str]:
    """What a fresh process prints, but for the command line that it gave to LLVM."""
    found = fresh.compile(replace(PLAIN, options=options)).stderr.splitlines()
    return [line for line in found if not line.startswith("Args: ")]
