"""A compilation in this process, for a target that a fresh process has tried."""

from __future__ import annotations

from optctx.errors import OptctxError
from optctx.fresh.job import Job, Result, compile_unchecked
from optctx.fresh.process import FreshProcess
from optctx.fresh.targets import trial_of

__all__ = ["check_target", "compile_job"]

_taken: set[tuple[str, str, str]] = set()  # triple, processor and features that LLVM knows


def compile_job(job: Job) -> Result:
    """Compile with the option values of this thread; the LLVMContext and the target machine are made inside.

    Safe on any number of threads at once. Bad IR, pipelines and targets come back as `Result.error`; nothing
    is raised for them. The first job with a `cpu` or `features` takes about half a second longer: a fresh
    process tries them, because LLVM may end a process over a name that it does not know.
    """
    return compile_unchecked(job, check_target)


def check_target(triple: str, cpu: str, features: str) -> None:
    """Raises OptctxError for a processor or features that LLVM does not take."""
    target = (triple, cpu, features)
    if target in _taken:
        return
    try:
        with FreshProcess() as fresh:
            problem = fresh.compile(trial_of(*target)).error
    except OSError:  # no process can be started here: it is LLVM that judges
        return
    if problem:
        raise OptctxError(problem)
    _taken.add(target)
