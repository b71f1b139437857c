"""What an LLVM gives on threads, in scopes, beside what fresh processes give."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from optctx import OptionContext
from optctx.compiling import FreshProcess, Job, Result, compile_job
from optctx.image.loaded import Image


def results_on_threads(jobs: Sequence[Job], image: Image) -> list[Result]:
    """What each job gives in a scope of its options; a fresh process gives the same."""

    def both(job: Job) -> tuple[Result, Result]:
        with OptionContext.from_args(job.options, image=image):
            return compile_job(replace(job, options=())), fresh.compile(job)

    with FreshProcess() as fresh, ThreadPoolExecutor(4) as pool:
        found = list(pool.map(both, jobs))
    assert [job for job, (own, alone) in zip(jobs, found, strict=True) if own != alone] == []
    return [own for own, _ in found]
