"""What a scope reaches in an LLVM of this process: an experiment, made at the call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from optctx.compiling.job import Job, compile_unchecked
from optctx.context.context import OptionContext
from optctx.engine.host import default_host
from optctx.errors import OptctxError

_LOOP = """
define void @fill(ptr %array) {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %element = getelementptr i64, ptr %array, i64 %i
  store i64 %i, ptr %element
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, 64
  br i1 %again, label %loop, label %done
done:
  ret void
}
"""


def scope_reaches(path: str) -> str:
    """Set an option on this thread, compile on another one, and tell which of them it reached.

    Args:
        path: The LLVM's library.

    Returns:
        "thread" if only this thread's compilation differs from the one before, "process" if the other
        thread's does, too, and otherwise "unknown: " with the reason. Costs three small compilations.
    """
    try:
        job = Job(_LOOP, "loop-unroll", emit="ir", llvm="" if path == default_host().image().path else path)
        with ThreadPoolExecutor(1) as pool:
            before = pool.submit(_compiled, job).result()  # which also starts the thread outside the scope
            with OptionContext({"unroll-count": 4}, image=job.image):
                inside, other = _compiled(job), pool.submit(_compiled, job).result()
    except OptctxError as error:
        return f"unknown: {error}"
    if inside == before:
        return "unknown: -unroll-count=4 changed nothing where it was set"
    return "thread" if other == before else "process"


def _compiled(job: Job) -> str:
    """Return the loop after `loop-unroll`. Raises OptctxError if LLVM does not compile it."""
    result = compile_unchecked(job)
    if result.ir is None:
        raise OptctxError(result.error)
    return result.ir
