"""What the processes of a sweep do: their server prepares, its children compile."""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from dataclasses import replace

from optctx import OptionContext, attach
from optctx.compiling.fresh import load_llvm, move_to
from optctx.compiling.job import Job, Result, compile_unchecked, pipeline_error
from optctx.errors import OptctxError, UnsupportedImageError
from optctx.lab.sweep.plan import Answer, Asked, Plan
from optctx.lab.sweep.recording import Recorded, recorded
from optctx.process import Attributes, noting, read_in, set_process_options


def attach_once() -> None:
    """Prepare the server of experiments whose base is LLVM's."""
    attach_under(())


def attach_under(arguments: tuple[str, ...]) -> None:
    """Prepare a server under the options of the calling process, which come before attaching."""
    load_llvm()
    set_process_options(arguments)
    _attach("ignore")


def begin(_: None, plan: Plan) -> Plan:
    """In a child: go where the plan compiles, and attach with the settings of the calling process."""
    move_to(plan.directory)
    _attach(*plan.attributes)  # type: ignore[arg-type]
    return plan


def _attach(attributes: Attributes, *trust: str) -> None:
    """Attach with the settings of the calling process, which has issued the warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attach(attributes=attributes, trust=[each for each in trust if each] if trust else None)


def check(_: None, plan: Plan, place: int) -> str:
    """The error that a job has under any options, of its module, its pipeline or its target; "" for none."""
    return check_module(_, plan, place) or pipeline_error(plan.jobs[place])


def check_module(_: None, plan: Plan, place: int) -> str:
    """The error that a job's module has under any options; "" for none."""
    begin(_, plan)
    return compile_unchecked(replace(plan.jobs[place], passes="verify", emit="none")).error or ""


def record_first(_: None, plan: Plan) -> Recorded:
    """What LLVM reads for the first job. Raises OptctxError if LLVM refuses it."""
    begin(_, plan)
    return recorded(_, plan.jobs[0])


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
