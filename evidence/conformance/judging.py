"""Runs jobs in fresh processes and inside contexts, looks into what differs, and judges."""

from __future__ import annotations

import time
from collections.abc import Sequence

from evidence.conformance.cache import ReferenceCache
from evidence.conformance.crashes import assign_blame
from evidence.conformance.fresh import reference, run_fresh
from evidence.conformance.job import Job, Outcome
from evidence.conformance.scoped import Mode, ScopedRun, run_scoped, shuffled
from evidence.conformance.stability import measure
from evidence.conformance.verdict import Verdict, judge

_PLAIN = Mode()
_SCOPED = 3  # times the time of a fresh process that a job may take inside a context


def judge_all(
    jobs: Sequence[Job], cache: ReferenceCache, timeout: float, mode: Mode = _PLAIN, seed: int = 1
) -> list[Verdict]:
    """A verdict for each job, in their order. `timeout`: seconds for one of them in a fresh process."""
    wanted = [*jobs, *{job.bare(): None for job in jobs}]
    compute_references(wanted, cache, timeout)
    expected = [_known(cache, job) for job in jobs]
    usable = [i for i, outcome in enumerate(expected) if outcome.kind not in ("died", "late")]
    order = [usable[i] for i in shuffled(len(usable), seed)]
    limit = timeout * _SCOPED
    run = _run_all(jobs, order, mode, limit)
    print(f"{len(run.crashes)} crashes", flush=True)
    blames, innocent = assign_blame(jobs, run.crashes, mode, limit)
    scoped = {**run.outcomes, **innocent}
    judged = [i for i in usable if i in scoped and scoped[i].kind != "refused"]
    differing = [i for i in judged if scoped[i] != expected[i]]
    print(f"{len(differing)} differ; alone and in stock LLVM", flush=True)
    alone = {i: run_scoped(jobs, [i], mode, threads=1, timeout=limit).outcomes.get(i) for i in differing}
    safe = [i for i in usable if expected[i].kind == "output"]
    stability = measure(
        jobs, differing, safe, timeout, seed, order=order, shared_machines=mode.shared_machines
    )
    blamed = {blame.index: blame for blame in blames}
    return [
        judge(
            job,
            expected[i],
            cache.get(job.bare()),
            scoped.get(i),
            blamed.get(i),
            alone.get(i),
            stability.get(i),
        )
        for i, job in enumerate(jobs)
    ]


def _run_all(jobs: Sequence[Job], order: Sequence[int], mode: Mode, limit: float) -> ScopedRun:
    """In one process, on two threads; what is solitary in a process of its own each."""
    together = [i for i in order if not jobs[i].solitary]
    meter = _Meter("inside contexts", len(order))
    run = run_scoped(jobs, together, mode, timeout=limit, progress=meter.show)
    for i in order:
        if jobs[i].solitary:
            single = run_scoped(jobs, [i], mode, threads=1, timeout=limit)
            run.outcomes.update(single.outcomes)
            run.crashes += single.crashes
            meter.show(len(run.outcomes))
    return run


def compute_references(jobs: Sequence[Job], cache: ReferenceCache, timeout: float) -> None:
    """Puts into the cache what fresh processes give."""
    missing = [job for job in jobs if cache.get(job) is None]
    meter = _Meter("fresh processes", len(missing))
    tasks = ((job, (reference, job)) for job in missing)
    for number, (job, outcome) in enumerate(run_fresh(tasks, timeout), 1):
        cache.put(job, outcome)
        meter.show(number)


def _known(cache: ReferenceCache, job: Job) -> Outcome:
    outcome = cache.get(job)
    assert outcome is not None
    return outcome


class _Meter:
    """Says now and then how far the work has come."""

    def __init__(self, what: str, total: int) -> None:
        self._what = what
        self._total = total
        self._began = self._said = time.monotonic()

    def show(self, done: int) -> None:
        """`done` of the total are done."""
        now = time.monotonic()
        if now - self._said > 10 or done == self._total:
            self._said = now
            rate = done / max(now - self._began, 0.001)
            print(f"{self._what}: {done} of {self._total}, {rate:.0f}/s", flush=True)
