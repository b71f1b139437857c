"""What a scope reaches in an LLVM of this process: an experiment, made at the call."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from optctx.compiling.job import Job, compile_unchecked
from optctx.context import OptionContext
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
    if path != default_host().image().path:
        return f"unknown: optctx compiles with {default_host().package}'s LLVM only"
    try:
        with ThreadPoolExecutor(1) as pool:
            before = pool.submit(_compiled).result()  # which also starts the thread outside the scope
            with OptionContext({"unroll-count": 4}):
                inside, other = _compiled(), pool.submit(_compiled).result()
    except OptctxError as error:
        return f"unknown: {error}"
    if inside == before:
        return "unknown: -unroll-count=4 changed nothing where it was set"
    return "thread" if other == before else "process"


def _compiled() -> str:
    """Return the loop after `loop-unroll`. Raises OptctxError if LLVM does not compile it."""
    result = compile_unchecked(Job(_LOOP, passes="loop-unroll", emit="ir"))
    if result.ir is None:
        raise OptctxError(result.error)
    return result.ir
