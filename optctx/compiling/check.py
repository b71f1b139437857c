"""Compiles a job in this process, after a fresh process has tried its target."""

from __future__ import annotations

from optctx.compiling.fresh import FreshProcess
from optctx.compiling.job import Job, Result, compile_unchecked
from optctx.compiling.targets import trial_of
from optctx.errors import OptctxError

__all__ = ["check_target", "compile_job"]

_taken: set[tuple[str, str, str]] = set()  # (triple, processor, features) that LLVM knows


def compile_job(job: Job) -> Result:
    """Compile with the option values of this thread, in an LLVMContext and with a target machine of its own.

    Safe on any number of threads at once. Bad IR, pipelines and targets are reported in `Result.error`, not
    raised. The first job with a certain `cpu` or `features` takes about half a second longer: a fresh process
    tries them, because LLVM may end the process if it does not know a name.
    """
    return compile_unchecked(job, check_target)


def check_target(triple: str, cpu: str, features: str) -> None:
    """Raise OptctxError for a processor or features that LLVM does not know."""
    target = (triple, cpu, features)
    if target in _taken:
        return
    try:
        with FreshProcess() as fresh:
            problem = fresh.compile(trial_of(*target)).error
    except OSError as error:
        named = " and ".join(filter(None, (cpu, features)))
        raise OptctxError(
            f"cannot compile for {named}: no process can be started to ask LLVM ({error.strerror})"
        ) from None
    if problem:
        raise OptctxError(problem)
    _taken.add(target)
