"""Checks whether LLVM has a processor, features and a code model for a target.

For one that it does not have, LLVM prints a message and may end the process. A fresh process tries them, so
neither happens in this one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from optctx.compiling.job import Job, Result
from optctx.errors import clipped, shown

Compile = Callable[[Job], Result]  # in a fresh process

_TRIAL = "define void @trial() { ret void }"
_CALLING = (
    "define void @trial() { call void @trial() ret void }"  # LLVM asserts in calls for i386's large model
)
_UNKNOWN = re.compile(r"'(?P<word>[^']*)' is not a recognized (?P<what>processor|feature) for this target")
_TRIPLE = re.compile(r'^target triple = "(?P<triple>[^"]+)"$', re.MULTILINE)


def is_suspect(job: Job, result: Result) -> bool:
    """Whether a job's processor, features or code model may have caused its result, in a fresh process."""
    if not job.is_checked:
        return False
    given = {job.cpu, *job.features.split(",")}
    return result.error is not None or any(said["word"] in given for said in _UNKNOWN.finditer(result.stderr))


def target_problem(compile: Compile, job: Job) -> Result | None:
    """What is wrong with the processor, features or code model of a job, as its error in one line, or None.

    It has died if the process of a trial ended otherwise than by LLVM's verdict: nothing is known then. A
    module that LLVM cannot read and a triple that it does not know are not reported here.
    """
    triple = job.triple
    plain = Job(_TRIAL if triple else job.ir, "verify", triple=triple, llvm=job.llvm)
    module = compile(replace(plain, emit="ir"))
    if module.died:
        return Result(error=untried(job, module), end=module.end)
    if module.error is not None:
        return None
    if not triple:
        found = _TRIPLE.search(module.ir or "")
        assert found is not None, "LLVM prints a module without its triple"
        triple = found["triple"]
    trial = compile(smallest(triple, job))
    if trial.end in ("lost", "timed out"):
        return Result(error=untried(job, trial), end=trial.end)
    problem = _judged(job, triple, trial)
    return Result(error=problem) if problem else None


def untried(job: Job, trial: Result) -> str:
    """The error for a target of which a trial has told nothing."""
    return f"cannot compile for {_named(job)}: LLVM could not be asked: {trial.error}"


def _named(job: Job) -> str:
    """What a job asks for of its target, in words."""
    model = "" if job.code_model == "default" else job.code_model
    names = {"processor": job.cpu, "features": job.features, "code model": model}
    return " and ".join(f"the {name} {shown(text)}" for name, text in names.items() if text)


def _judged(job: Job, triple: str, trial: Result) -> str:
    """The problem that a trial of the target shows; "" for none."""
    unknown = _UNKNOWN.search(trial.stderr)
    if unknown is None and trial.error is None:
        return ""
    if unknown is None and not trial.stderr:
        return trial.error or ""
    if unknown is None:
        said = trial.stderr.splitlines()[0].removeprefix("LLVM ERROR: ")
        return f"cannot compile for {_named(job)} of {triple}: LLVM says: {clipped(said)}"
    word, what = unknown["word"], unknown["what"]
    listed = f"`llc -mtriple={triple} -mcpu=help` lists them"
    return f"cannot compile for the {what} {shown(word)}: it is no {what} of {triple}; {listed}"


def smallest(triple: str, job: Job) -> Job:
    """The smallest job for a job's target: LLVM compiles it if it has that processor, features and model."""
    ir = _TRIAL if job.code_model == "default" else _CALLING
    return replace(
        job, ir=ir, passes="verify", options=(), triple=triple, opt_level=2, emit="assembly", reloc="pic"
    )
