"""`FreshProcess`: compiles every job from a clean state, with options set process-wide.

`compile_job` compiles in this process, after a fresh one has tried the target.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
from dataclasses import replace
from functools import lru_cache
from typing import Literal, TypeVar, cast

from optctx.children.death import OF_MACHINE
from optctx.children.messages import Limits
from optctx.children.pool import Call, Done, Pool, SharedPool
from optctx.compiling.job import Job, Result, compile_unchecked, initialise_targets
from optctx.errors import EndedEarlyError, OptctxError, clipped, shown
from optctx.hosts.llvmlite.compiling import native_api, refusal
from optctx.process import set_process_options

R = TypeVar("R")

_MOST_BYTES = 1 << 47  # all addresses of a process


class FreshProcess:
    """Compiles jobs in fresh processes. Their output is the reference for threads inside a context.

    A context manager. Every job is compiled by a fork of one server process, with LLVM loaded and no option
    set. Nothing that a job does reaches another job or this process. A job that crashes, exits or takes too
    long has a `Result.error`. Any number of threads can call `compile`; their jobs run in parallel.

    The first one starts the server, which serves all of this process and ends with it. If the server is
    killed, the jobs under way are lost, and the next one starts another server, as the first one in a forked
    child does. Leaving the block kills the jobs under way on other threads.
    """

    def __init__(
        self, *, timeout: float = 120.0, memory: int | None = None, directory: str | None = None
    ) -> None:
        """Start nothing yet.

        Args:
            timeout: Seconds that one job may take.
            memory: Bytes of address space that one job may take in addition to the server's. LLVM ends the
                process if it gets no more. None is no limit.
            directory: Where jobs run and put temporary files, by default as this process.

        Raises OptctxError for limits that no system takes.
        """
        self._limits = checked_limits(timeout, memory)
        self._directory = None if directory is None else os.path.abspath(directory)
        self._running = False
        self._calls: set[Call[Result]] = set()

    def __enter__(self) -> FreshProcess:
        with contextlib.suppress(OSError):  # `compile` tells
            llvm_pool()  # its server starts now
        self._running = True
        return self

    def __exit__(self, *error: object) -> None:
        self._running = False
        for call in self._calls.copy():
            call.kill()

    def compile(self, job: Job, *, timeout: float | None = None) -> Result:
        """Compile one job in a fresh process and wait for it. `timeout` (seconds) replaces the usual one.

        Every problem of the job itself, such as a processor that LLVM does not know, is a `Result.error`.
        Raises OptctxError outside the `with` block, and for a timeout that no system takes.
        """
        limits = self._limits if timeout is None else checked_limits(timeout, self._limits.memory)
        result = self._compile(job, limits)
        if result.died and _BROKEN in result.stderr:
            plain = replace(job, passes="verify", options=(), cpu="", features="", emit="none")
            if refused := refused_reading(self._compile(plain, self._limits).stderr):
                return replace(result, error=refused, end="failed")
        if unknown := _unknown(job, result.stderr):
            return Result(error=unknown, seconds=result.seconds, stderr=result.stderr, end="failed")
        return result

    def _compile(self, job: Job, limits: Limits) -> Result:
        if not self._running:
            raise OptctxError("this FreshProcess is not running; use it inside its `with` block")
        try:
            call = llvm_pool().submit(compile_fresh, job, self._directory, gives=Result, limits=limits)
        except OSError as error:
            return Result(error=f"no process can be started: {error.strerror}", end="lost")
        self._calls.add(call)
        if not self._running:  # another thread has left the block
            call.kill()
        try:
            return _result(call.result())
        finally:
            self._calls.discard(call)


def checked_limits(timeout: object, memory: object) -> Limits:
    """Return these limits of one call. Raises OptctxError for what no system takes."""
    is_number = isinstance(timeout, float) or (isinstance(timeout, int) and timeout <= sys.float_info.max)
    if not is_number or not timeout > 0:  # type: ignore[operator]
        raise OptctxError(f"expected a timeout above 0 seconds, found {shown(timeout)}")
    if memory is not None and (not isinstance(memory, int) or not 0 < memory <= _MOST_BYTES):
        raise OptctxError(f"expected 1 to {_MOST_BYTES:,} bytes of memory, found {shown(memory)}")
    return Limits(float(cast(float, timeout)), memory)


def llvm_pool() -> Pool:
    """The pool of this process whose server has loaded LLVM and set no option. Starts it if need be.

    Raises OSError if no process can be started.
    """
    return _pool.running()


def answered(done: Done[R], attempt: str) -> R:
    """What a call gave in a child that ran LLVM on a stranger's module.

    Raises OptctxError, with what was attempted, if LLVM refused, crashed or took too long, and
    EndedEarlyError if it was not LLVM that ended the child.
    """
    if (death := done.death) is not None:
        if death.end in OF_MACHINE:
            raise EndedEarlyError(f"{attempt}: the process that ran LLVM ended: {death}")
        raise OptctxError(f"{attempt}: {'LLVM crashed: ' if death.end == 'crashed' else ''}{death}")
    if done.error:
        raise OptctxError(done.error)
    return cast(R, done.value)


def load_llvm() -> None:
    """Prepare a server: its children need not do this."""
    initialise_targets()
    native_api()


_pool = SharedPool(load_llvm)


def compile_fresh(_: None, job: Job, directory: str | None) -> Result:
    """Set the options process-wide, and compile. `directory`: where to run and put temporary files."""
    move_to(directory)
    set_process_options(job.options, job.image)
    return compile_unchecked(job)


def move_to(directory: str | None) -> None:
    """In a child: run there, and put temporary files there. None stays where the caller is."""
    if directory is not None:
        os.chdir(directory)
        os.environ["TMPDIR"] = directory


def _result(done: Done[Result]) -> Result:
    if done.death is not None:
        result = Result(error=str(done.death), end=done.death.end)
    else:
        result = done.value or Result(error=done.error, end="lost")
    return replace(result, stderr=done.printed)


_BROKEN = "LLVM ERROR: Broken module found"  # printed last if it has debug info: reading it ends the process


def refused_reading(printed: str) -> str:
    """The error for a module of which reading has ended a process; "" if that was not LLVM's verifier.

    `printed`: by that process, which has not run a pass.
    """
    words, broken, _ = printed.partition(_BROKEN)
    return refusal(words) if broken else ""


def check_readable(
    ir: str | bytes, triple: str = "", llvm: str = "", emit: Literal["none", "ir"] = "none"
) -> str:
    """Raise OptctxError for a module that LLVM cannot read or does not accept. A fresh process reads it.

    Returns what is to be emitted, "" for nothing. Raises EndedEarlyError if it was not LLVM that ended the
    fresh process.
    """
    with FreshProcess() as fresh:
        result = fresh.compile(Job(ir, "verify", triple=triple, emit=emit, llvm=llvm))
    if result.error is None:
        return result.ir or ""
    if result.end in OF_MACHINE:
        raise EndedEarlyError(f"cannot read the module: {result.error}")
    crashed = "LLVM crashed: " if result.end == "crashed" else ""
    raise OptctxError(f"cannot read the module: {crashed}{result.error}" if result.died else result.error)


_readable: set[bytes] = set()  # digests of modules
_MOST_READABLE = 10_000


def _check_reading(job: Job) -> None:
    """Raise OptctxError for a module that might end this process while LLVM reads it.

    Reading damaged bitcode can do that, and reading a broken module with debug info does.
    """
    if isinstance(job.ir, str) and _DEBUG_INFO not in job.ir:
        return
    data = job.ir if isinstance(job.ir, bytes) else job.ir.encode(errors="surrogatepass")
    digest = hashlib.sha256(job.llvm.encode() + b"\0" + data).digest()
    if digest not in _readable:
        check_readable(job.ir, job.triple, job.llvm)
        if len(_readable) >= _MOST_READABLE:
            _readable.clear()
        _readable.add(digest)


_DEBUG_INFO = "Debug Info Version"


def compile_job(job: Job) -> Result:
    """Compile with the option values of this thread, in an LLVMContext and with a target machine of its own.

    Safe on any number of threads at once. Bad IR, pipelines and targets are reported in `Result.error`, not
    raised. LLVM may end the process for a processor, a feature or a code model that it does not have, for
    damaged bitcode, and for a broken module with debug info. So a fresh process tries each of these first,
    once, which takes milliseconds, and half a second if it is the first one.
    """
    try:
        _check_reading(job)
    except OptctxError as error:
        return Result(error=str(error), end="failed")
    return compile_unchecked(job, check_target)


def check_target(triple: str, job: Job) -> None:
    """Raise OptctxError if LLVM lacks the job's processor, features or code model for a triple.

    Raises EndedEarlyError if LLVM could not be asked.
    """
    if job.is_checked:
        calls = (
            "" if job.code_model == "default" else "call void @trial()"
        )  # which i386's large model asserts on
        ir = f"define void @trial() {{ {calls} ret void }}"
        trial = replace(job, ir=ir, passes="verify", options=(), triple=triple, emit="assembly")
        _try(replace(trial, opt_level=2, reloc="pic"))


@lru_cache(1024)  # of those that LLVM has
def _try(job: Job) -> None:
    """Compile the smallest job for a target in a fresh process: LLVM may print a message, and may end it."""
    with FreshProcess() as fresh:
        result = fresh.compile(job)
    if result.end in ("failed", "ok"):
        if result.error is not None:
            raise OptctxError(result.error)
        return
    model = "" if job.code_model == "default" else job.code_model
    names = {"processor": job.cpu, "features": job.features, "code model": model}
    target = " and ".join(f"the {name} {shown(text)}" for name, text in names.items() if text)
    if result.end != "crashed":
        raise EndedEarlyError(f"cannot compile for {target}: LLVM could not be asked: {result.error}")
    said = result.stderr.splitlines()[0].removeprefix("LLVM ERROR: ") if result.stderr else result.error
    raise OptctxError(f"cannot compile for {target} of {job.triple}: LLVM says: {clipped(said or '')}")


_UNKNOWN = re.compile(r"'(?P<word>[^']*)' is not a recognized (?P<what>processor|feature) for this target")


def _unknown(job: Job, printed: str) -> str:
    """The error for a processor or a feature of a job's that LLVM has printed not to know; "" for none."""
    for said in _UNKNOWN.finditer(printed):
        word, what = said["word"], said["what"]
        if word and word in (job.cpu, *job.features.split(",")):
            triple, for_it = job.triple or "the module's target", f" -mtriple={job.triple}" * bool(job.triple)
            return (
                f"cannot compile for the {what} {shown(word)}: it is no {what} of {triple}; "
                f"`llc{for_it} -mcpu=help` lists them"
            )
    return ""


def module_triple(job: Job) -> str:
    """The triple that a job's module is for, as a fresh process reads it. Raises as `check_readable` does."""
    text = check_readable(job.ir, llvm=job.llvm, emit="ir")
    found = re.search(r'^target triple = "([^"]+)"$', text, re.MULTILINE)
    assert found is not None, "LLVM prints a module without its triple"
    return found[1]
