"""What the processes of a sweep do: their server prepares, its children compile."""

from __future__ import annotations

import contextlib
import hashlib
import warnings
from dataclasses import dataclass, replace

from optctx import OptionContext, attach
from optctx.compiling.job import Job, Result, compile_unchecked, emit_all, pipeline_error
from optctx.errors import OptctxError, UnsupportedImageError
from optctx.lab.sweep.emissions import Emission, Emissions
from optctx.lab.sweep.plan import Answer, Asked, Plan
from optctx.process import Attributes, noting, read_in, set_process_options

_STREAM = 2  # what LLVM prints on this thread: its own descriptor, where the kernel allows that


@dataclass
class Prepared:
    """What every child of the server has."""

    plan: Plan
    emissions: Emissions | None  # of the children that compile on threads, each its own copy


def attach_once() -> None:
    """Prepare a server of which those of experiments are forks."""
    _attach("ignore")


def prepare(plan: Plan) -> Prepared:
    """Set the options of the calling process, and attach as it has attached."""
    set_process_options(plan.arguments)
    _attach(*plan.attributes)  # type: ignore[arg-type]
    return Prepared(plan, Emissions(plan.noted, keep=plan.output) if plan.emit_once else None)


def _attach(attributes: Attributes, *trust: str) -> None:
    """Attach with the settings of the calling process, which has issued the warnings already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attach(attributes=attributes, trust=[each for each in trust if each] if trust else None)


def check(prepared: Prepared, place: int) -> str:
    """The error that a job has under any options, of its module, its pipeline or its target; "" for none."""
    return check_module(prepared, place) or pipeline_error(prepared.plan.jobs[place])


def check_module(prepared: Prepared, place: int) -> str:
    """The error that a job's module has under any options; "" for none."""
    return compile_unchecked(replace(prepared.plan.jobs[place], passes="verify", emit="none")).error or ""


def compile_together(prepared: Prepared, asked: Asked) -> Answer:
    """Compile one combination, on one of several threads."""
    known = prepared.emissions
    return _compile(prepared.plan, asked, Emission(known, asked.options, _STREAM) if known else None)


def compile_alone(prepared: Prepared, asked: Asked) -> Answer:
    """Compile one combination in a process of its own."""
    return _compile(prepared.plan, asked, None)


def _compile(plan: Plan, asked: Asked, emission: Emission | None) -> Answer:
    job = plan.jobs[asked.job]
    try:
        with OptionContext(asked.options):
            if plan.noted:
                result, read = _recorded(job, plan.noted, emission)
            else:
                result, read = compile_unchecked(job), None
    except OptctxError as error:
        return Answer("failed", error=str(error))
    if result.error is not None:
        return Answer("failed", error=result.error)
    saved = emission.saved if emission is not None else 0.0
    emitted = emission.emitted if emission is not None else None
    return Answer(
        "ok",
        instructions=result.instructions,
        object_size=emitted.size if emitted is not None else len(result.code),
        seconds=result.seconds + saved,
        digest=emitted.digest if emitted is not None else hashlib.sha256(result.code).hexdigest(),
        code=result.code if plan.output else b"",
        ir=result.ir if plan.output else None,
        read=read,
        emitted=not saved,
    )


def _recorded(
    job: Job, noted: tuple[str, ...], emission: Emission | None
) -> tuple[Result, frozenset[str] | None]:
    """Compile. Return the result, and which of the noted options LLVM read (None if unknown)."""
    reading = noting(frozenset(noted))
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(reading)
        except UnsupportedImageError:  # this thread blocks SIGSEGV, or another handler has it
            return compile_unchecked(job), None
        result = compile_unchecked(job, emit=emission or emit_all)
    try:
        read = read_in(reading)
        return result, read if emission is None else read | emission.read
    except OptctxError:
        return result, None
