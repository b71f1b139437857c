"""The conformance suite with faults put into its own workers, to see that it finds them.

The server of the suite gets the faults as it prepares, so its children have them.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import signal
import sys
import threading
import time
from collections.abc import Sequence

from evidence.conformance import fresh, main, scoped, stability
from evidence.conformance.cache import ReferenceCache
from evidence.conformance.job import Job, Machines, Outcome, compile_job, initialise
from evidence.conformance.judging import judge_all
from evidence.conformance.library import choose_library
from evidence.conformance.scoped import Mode, scoped_outcome
from optctx import Log
from optctx.children.pool import SharedPool
from optctx.image.loaded import Image

_COUNTED = str(pathlib.Path(__file__).parents[1] / "programs" / "sample" / "counted.ll")
_OPTIONS = {
    "right": ("-unroll-count=2",),
    "insensitive": ("-inline-threshold=7",),
    "refused": ("-stats",),
    "rejected": ("-unroll-count=many",),
    "wrong": ("-unroll-count=4",),
    "ignored": ("-unroll-count=5",),
    "wrong in company": ("-unroll-count=6",),
    "wrong and remembering": ("-unroll-count=7",),
    "killed": ("-unroll-count=8",),
    "unstable": ("-unroll-count=12",),
    "dies fresh": ("-unroll-count=13",),
    "hangs": ("-unroll-count=14",),
}
_JOBS = {
    name: Job("opt", _COUNTED, "function(loop-unroll)", options, "x86_64", where=name)
    for name, options in _OPTIONS.items()
}
_NAMES = {job: name for name, job in _JOBS.items()}
_APART = ("hangs", "wrong in company")  # which need two threads for themselves
_PATIENCE = 4.0  # seconds that one job waits for another
_LATE = 10.0  # seconds for one job in a fresh process; several times that inside a context
_SOON_LATE = 2.0  # the same where a job hangs
_ODD = Outcome("output", "odd")
_other_began = threading.Event()


def _inside(job: Job, mode: Mode, machines: Machines | None) -> Outcome:
    """In place of `scoped_outcome`."""
    name = _NAMES.get(job, "right")
    if name == "right":
        _other_began.set()
    if name in ("wrong", "wrong and remembering"):
        return _ODD
    if name == "ignored":
        return compile_job(job)
    if name == "wrong in company" and _other_began.wait(_PATIENCE):
        return _ODD
    if name == "killed":
        os.write(2, b"last words")
        # This very thread: a signal to the process may find another one, and let this one go on for a while.
        signal.pthread_kill(threading.get_ident(), signal.SIGSEGV)
    if name == "hangs":
        time.sleep(1000)
    return scoped_outcome(job, mode, machines)


class _Stock:
    """In place of what is done in fresh processes."""

    options = compiled = False  # of company, before the job itself

    @classmethod
    def compile(cls, job: Job) -> Outcome:
        """The job itself."""
        name = _NAMES.get(job, "right")
        if name == "unstable":
            return Outcome("output", os.urandom(8).hex())
        if name == "dies fresh":
            os.abort()
        return _ODD if cls.compiled and name == "wrong and remembering" else compile_job(job)

    @classmethod
    def set_company_options(cls, arguments: Sequence[str], image: Image) -> None:
        """Before company is compiled."""
        cls.options = True
        fresh.set_process_options(arguments, image)

    @classmethod
    def compile_company(cls, job: Job) -> Outcome:
        """A job before, or beside, the job itself."""
        cls.compiled = cls.compiled or cls.options
        return compile_job(job)


def prepared() -> None:
    """In the server."""
    scoped.scoped_outcome = _inside
    fresh.compile_job = _Stock.compile  # type: ignore[assignment]
    stability.set_process_options = _Stock.set_company_options  # type: ignore[assignment]
    stability.compile_job = _Stock.compile_company  # type: ignore[assignment]
    initialise()


def judge_jobs(cache: str, *names: str) -> None:
    """Print verdicts by name, as JSON; without `names`, on all jobs but those apart."""
    fresh.POOL = SharedPool(prepared)
    stability._ROUNDS = 2  # enough of everything
    chosen = [_JOBS[name] for name in names or _JOBS if names or name not in _APART]
    with (
        contextlib.redirect_stdout(io.StringIO()),  # progress
        ReferenceCache(pathlib.Path(cache), "library") as known,
    ):
        verdicts = judge_all(chosen, known, _SOON_LATE if "hangs" in names else _LATE)
    json.dump({each.job.where: (each.verdict, each.detail) for each in verdicts}, sys.stdout)


def compile_after_company(library: str) -> None:
    """Print whether a job gives the same once the options of another were set and reset in a library."""
    choose_library(library)
    job, other = _JOBS["insensitive"], _JOBS["right"]
    tasks = {"alone": (fresh.reference, job), "after": (stability.after_own_options, job, [other], False)}
    found = dict(fresh.run_fresh(tasks.items(), _LATE))
    print(found["alone"].kind, found["after"] == found["alone"])


def run_command(fault: str, hidden: str, *arguments: str) -> int:
    """Run the command; its exit status. `fault`: of every job inside a context; `hidden`: from records."""
    os.environ.update(FAULT=fault, HIDDEN=hidden)
    fresh.POOL = SharedPool(prepared_for_command)
    return main.main(arguments)


def prepared_for_command() -> None:
    """In the server."""
    if fault := _JOBS.get(os.environ["FAULT"]):
        scoped.scoped_outcome = lambda job, mode, machines: _inside(fault, mode, machines)
    seen, hidden = vars(Log)["reads"].fget, os.environ["HIDDEN"].split(",")
    Log.reads = property(  # type: ignore[assignment,method-assign]
        lambda log: {name: read for name, read in seen(log).items() if name not in hidden}
    )
    initialise()
