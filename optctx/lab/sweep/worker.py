"""The process that compiles: on several threads, or one combination alone. It may die at any moment.

Requests have 24 bytes, on a pipe that all threads read: a number, and the place of its options in a memory
file if the plan does not have them. Each thread reports when it starts one, so the supervisor knows which
combinations were being compiled when the process died.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import pickle
import resource
import struct
import sys
import threading
import traceback
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import NoReturn

from optctx.context import OptionContext
from optctx.errors import OptctxError, UnsupportedImageError
from optctx.fresh.helper import address_space, printed_to
from optctx.fresh.job import Job, Result, compile_unchecked, emit_all, pipeline_error
from optctx.fresh.limits import lower_limit
from optctx.fresh.protocol import encode, write_all
from optctx.lab.sweep.emissions import Emission, Emissions
from optctx.lab.sweep.plan import Answer, Asked, Plan, Started
from optctx.locks import lock_left_behind
from optctx.process import noting, read_in

__all__ = ["REQUEST", "check", "compile_alone", "serve"]

REQUEST = struct.Struct("<QQQ")  # number, place and size of a pickled Asked; size 0: the plan has it
_CLONE_FILES = 0x400
_PER_THREAD = 160 << 20  # bytes of address space that a thread's stack and heap reserve
_LINES = 100  # kept of what LLVM prints in one compilation
_LINE = 500  # characters kept of a line


def check(plan: Plan, place: int, answers: int) -> NoReturn:
    """Write the errors that a job has under any options: of its module, then of its pipeline and target."""
    try:
        _limit_memory(plan, 1)
        job = plan.jobs[place]
        read = compile_unchecked(replace(job, passes="verify", emit="none"))
        write_all(answers, encode(read.error or ""))
        write_all(answers, encode(pipeline_error(job)))
    except BaseException:  # such as MemoryError; the last line of the traceback becomes the cause
        _complain()
    finally:
        os._exit(0)


def serve(plan: Plan, requests: int, options: int, answers: int, printed: int) -> NoReturn:
    """Compile requests on several threads until their pipe is closed. Exit without clean-up.

    `options`: the memory file that holds the requests that the plan does not have. `printed`: the one that
    receives the process's standard streams.
    """
    try:
        _limit_memory(plan, plan.threads)
        emissions = Emissions(plan.noted, keep=plan.output) if plan.emit_once else None
        shared = (plan, requests, options, answers, printed, lock_left_behind(), emissions)
        pool = [threading.Thread(target=_work, args=shared) for _ in range(plan.threads)]
        for thread in pool:
            thread.start()
        for thread in pool:
            thread.join()
    finally:
        os._exit(0)


def compile_alone(plan: Plan, asked: Asked, answers: int, printed: int) -> NoReturn:
    """Compile one combination. `printed`: the memory file that receives the process's standard streams."""
    # There may be no memory to make it when it is needed.
    out_of_memory = encode(Answer(asked.number, "crashed", error="out of memory"))
    try:
        _limit_memory(plan, 1)
        answer = _compile(plan, asked, None)
        write_all(answers, encode(replace(answer, printed=_lines(printed))))
    except MemoryError:
        os.write(answers, out_of_memory)
    except BaseException:  # a bug in optctx: the last line of the traceback becomes the error of the row
        _complain()
    finally:
        os._exit(0)


def _complain() -> NoReturn:
    traceback.print_exc()
    sys.stderr.flush()
    os._exit(1)


def _limit_memory(plan: Plan, threads: int) -> None:
    if plan.memory is not None:
        lower_limit(resource.RLIMIT_AS, address_space() + threads * (plan.memory + _PER_THREAD))


def _work(
    plan: Plan,
    requests: int,
    options: int,
    answers: int,
    printed: int,
    writing: AbstractContextManager[object],
    emissions: Emissions | None,
) -> None:
    """Compile requests on one thread."""

    def serve(own: int) -> None:
        while request := os.read(requests, REQUEST.size):
            number, place, size = REQUEST.unpack(request)
            with writing:
                write_all(answers, encode(Started(number)))
            asked = pickle.loads(os.pread(options, size, place)) if size else plan.asked(number)
            emission = None
            if emissions is not None:
                emissions.learn(asked.known)
                emission = emissions.start(asked.options, own)
            answer = _compile(plan, asked, emission)
            with writing:
                write_all(answers, encode(replace(answer, printed=_lines(own))))

    try:
        serve(_own_streams(printed))
    except BaseException:  # such as MemoryError, perhaps due to another thread: each is compiled again alone
        os._exit(1)


def _own_streams(shared: int) -> int:
    """Give this thread its own file descriptors, and a memory file that receives what LLVM prints on it.

    Returns the file, or `shared` if the kernel forbids that. Then lines that threads print at the same moment
    get mixed up.
    """
    if ctypes.CDLL(None).unshare(_CLONE_FILES):
        return shared
    file = os.memfd_create("printed")
    os.dup2(file, 1)
    os.dup2(file, 2)
    return file


def _lines(file: int) -> tuple[str, ...]:
    """Return the printed lines, and empty the file for the next compilation."""
    if not os.fstat(file).st_size:
        return ()
    text = printed_to(file)
    os.ftruncate(file, 0)
    os.lseek(file, 0, os.SEEK_SET)
    return tuple(line[:_LINE] for line in text.splitlines()[-_LINES:] if line.strip())


def _compile(plan: Plan, asked: Asked, emission: Emission | None) -> Answer:
    job, number = plan.jobs[asked.job], asked.number
    try:
        with OptionContext(asked.options):
            if plan.noted:
                result, read = _recorded(job, plan.noted, emission)
            else:
                result, read = compile_unchecked(job), None
    except OptctxError as error:
        return Answer(number, "failed", error=str(error))
    if result.error is not None:
        return Answer(number, "failed", error=result.error)
    saved = emission.saved if emission is not None else 0.0
    emitted = emission.emitted if emission is not None else None
    return Answer(
        number,
        "ok",
        instructions=result.instructions,
        object_size=emitted.size if emitted is not None else len(result.code),
        seconds=result.seconds + saved,
        digest=emitted.digest if emitted is not None else hashlib.sha256(result.code).hexdigest(),
        code=result.code if plan.output else b"",
        ir=result.ir if plan.output else None,
        read=read,
        emitted=not saved,
        emission=None if saved or plan.output else emitted,
    )


def _recorded(
    job: Job, noted: tuple[str, ...], emission: Emission | None
) -> tuple[Result, frozenset[str] | None]:
    """Compile. Return the result, and which of the noted options LLVM read (None if unknown)."""
    reading = noting(frozenset(noted))
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(reading)
        except UnsupportedImageError:  # threads take turns
            return compile_unchecked(job), None
        result = compile_unchecked(job, emit=emission or emit_all)
    try:
        read = read_in(reading)
        return result, read if emission is None else read | emission.read
    except OptctxError:
        return result, None
