"""What the tests of reads have children do. They import this file alone, and little with it."""

from __future__ import annotations

import os
import signal
import time

from evidence.reads.children import recorded
from evidence.reads.stacks import FirstRead
from optctx import OptctxError
from optctx.compiling import Job, compile_job
from tests.support.ir_texts import COUNTED, UNROLL, X86

UNROLLED = Job(COUNTED, UNROLL, triple=X86, emit="ir")


def act(_: None, name: str) -> list[FirstRead]:
    """Do what the name says."""
    if name == "bad":
        raise OptctxError("it cannot be")
    if name == "dead":
        os.kill(os.getpid(), signal.SIGKILL)
    if name == "gone":
        os._exit(3)
    if name == "slow":
        time.sleep(60)
    return recorded(lambda: compile_job(UNROLLED).error)
