"""What the processes of a sweep do: their server prepares, its children compile."""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from dataclasses import replace

from optctx import OptionContext, attach
from optctx.compiling.job import Job, Result, compile_unchecked, pipeline_error
from optctx.errors import OptctxError, UnsupportedImageError
from optctx.lab.sweep.plan import Answer, Asked, Plan
from optctx.process import Attributes, noting, read_in, set_process_options


def attach_once() -> None:
    """Prepare a server of which those of experiments are forks."""
    _attach("ignore")


def prepare(plan: Plan) -> Plan:
    """Set the options of the calling process, and attach as it has attached. Every child has the plan."""
    set_process_options(plan.arguments)
    _attach(*plan.attributes)  # type: ignore[arg-type]
    return plan


def _attach(attributes: Attributes, *trust: str) -> None:
    """Attach with the settings of the calling process, which has issued the warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attach(attributes=attributes, trust=[each for each in trust if each] if trust else None)


def check(plan: Plan, place: int) -> str:
    """The error that a job has under any options, of its module, its pipeline or its target; "" for none."""
    return check_module(plan, place) or pipeline_error(plan.jobs[place])


def check_module(plan: Plan, place: int) -> str:
    """The error that a job's module has under any options; "" for none."""
    return compile_unchecked(replace(plan.jobs[place], passes="verify", emit="none")).error or ""


def compile_one(plan: Plan, asked: Asked) -> Answer:
    """Compile one combination, on a thread of several or in a process of its own."""
    job = plan.jobs[asked.job]
    try:
        with OptionContext(asked.options):
            result, read = _recorded(job, plan.noted) if plan.noted else (compile_unchecked(job), None)
    except OptctxError as error:
        return Answer("failed", error=str(error))
    if result.error is not None:
        return Answer("failed", error=result.error)
    return Answer(
        "ok",
        instructions=result.instructions,
        object_size=len(result.code),
        seconds=result.seconds,
        digest=hashlib.sha256(result.code).hexdigest(),
        code=result.code if plan.output else b"",
        ir=result.ir if plan.output else None,
        read=read,
    )


def _recorded(job: Job, noted: tuple[str, ...]) -> tuple[Result, frozenset[str] | None]:
    """Compile. Return the result, and which of the noted options LLVM read (None if unknown)."""
    reading = noting(frozenset(noted))
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(reading)
        except UnsupportedImageError:  # this thread blocks SIGSEGV, or another handler has it
            return compile_unchecked(job), None
        result = compile_unchecked(job)
    try:
        return result, read_in(reading)
    except OptctxError:
        return result, None
