"""The command: python -m tests.conformance."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from tests.conformance.audited import find_sightings, sightings_as_json, sightings_as_text
from tests.conformance.cache import ReferenceCache
from tests.conformance.crashes import assign_blame
from tests.conformance.forked import reference, run_forked
from tests.conformance.job import Job, Outcome, initialise
from tests.conformance.report import as_json, as_text
from tests.conformance.runlines import read_jobs
from tests.conformance.scoped import Mode, run_scoped, shuffled
from tests.conformance.source import SourceError, default_cache, llvm_tests
from tests.conformance.stability import measure
from tests.conformance.verdict import Verdict, judge, option_names

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every stable job agrees or is refused by name, and the audit saw nothing; else 1.

    2 if there is no source.
    """
    options = _arguments().parse_args(arguments)
    started_in = Path.cwd()
    Mode.process_wide = options.process_wide
    Mode.poison = options.poison
    Mode.audit = options.audit
    options.threads = 1 if options.audit else options.threads
    options.cache = options.cache.resolve()
    try:
        root = llvm_tests(options.cache)
    except SourceError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    jobs, left_out, build_id = _read(root, options.folders)
    jobs = _choose(jobs, options)
    print(f"{len(jobs)} jobs in {', '.join(options.folders)}", flush=True)
    _leave_for(options.cache / "work")
    initialise()
    verdicts = _judge_all(jobs, ReferenceCache(options.cache, build_id, printed=options.printed), options)
    settings = {
        name: getattr(options, name)
        for name in (
            *("folders", "limit", "seed", "threads", "timeout"),
            *("printed", "process_wide", "poison", "audit"),
        )
    }
    settings["library"] = build_id
    print(as_text(verdicts, left_out))
    if options.audit:
        print(*sightings_as_text(verdicts), "", sep="\n")
    if options.json:
        told = as_json(verdicts, left_out, settings)
        if options.audit:
            told["audit"] = sightings_as_json(verdicts)
        (started_in / options.json).write_text(json.dumps(told, indent=1) + "\n")
    return int(
        bool(find_sightings(verdicts))
        or any(verdict.verdict in ("differing", "crashed") for verdict in verdicts)
    )


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("folders", nargs="*", default=["Transforms", "Analysis", "CodeGen"])
    parser.add_argument("--limit", type=int, default=0, help="so many jobs, chosen at random; 0 is all")
    parser.add_argument("--per-option", type=int, default=0, help="so many jobs for each option; 0 is all")
    parser.add_argument("--seed", type=int, default=1, help="of the order of jobs and of the choice")
    parser.add_argument("--threads", type=int, default=2, help="inside contexts at once")
    parser.add_argument(
        "--process-wide", choices=("refuse", "exclusive"), default="refuse", help="as OptionContext takes it"
    )
    parser.add_argument("--poison", action="store_true", help="spoil the process-wide values first")
    parser.add_argument(
        "--audit", action="store_true", help="report accesses to LLVM's own option storage; one thread"
    )
    parser.add_argument("--printed", action="store_true", help="standard error counts, too; one thread")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for one job in a fresh process")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where LLVM's tests are kept")
    parser.add_argument("--json", type=Path, help="write the whole report there")
    return parser


def _leave_for(folder: Path) -> None:
    """Some passes write files into the current folder, and some print its name."""
    folder.mkdir(exist_ok=True)
    os.chdir(folder)


def _choose(jobs: list[Job], options: argparse.Namespace) -> list[Job]:
    """A part of the jobs, at random: so many in all, or enough that every option has so many."""
    chosen: list[int] = []
    count: Counter[str] = Counter()
    for index in shuffled(len(jobs), options.seed):
        names = option_names(jobs[index])
        if options.per_option and min(count[name] for name in names) >= options.per_option:
            continue
        chosen.append(index)
        count.update(names)
    return [jobs[index] for index in sorted(chosen[: options.limit or None])]


def _read(root: Path, folders: Sequence[str]) -> tuple[list[Job], Counter[str], str]:
    """In a child, because reading the registry attaches and this process must stay stock."""

    def work() -> Any:
        from optctx.context.text import needs_value
        from optctx.engine.attach import attach

        engine = attach()

        def needs(name: str) -> bool | None:
            option = engine.options.get(name)
            return None if option is None else needs_value(engine.resolve(option))

        return (*read_jobs(root, folders, needs), engine.image.build_id)

    [(_, found)] = run_forked([(0, work)], timeout=600.0)
    if isinstance(found, Outcome):
        raise RuntimeError(f"cannot read the tests: {found.text}")
    return found


def _judge_all(jobs: Sequence[Job], cache: ReferenceCache, options: argparse.Namespace) -> list[Verdict]:
    wanted = [*jobs, *{job.bare(): None for job in jobs}]
    _references(wanted, cache, options.timeout, printed=options.printed)
    expected = [_known(cache, job) for job in jobs]
    usable = [i for i, outcome in enumerate(expected) if outcome.kind not in ("died", "late")]
    order = [usable[i] for i in shuffled(len(usable), options.seed)]
    meter = _Meter("inside contexts", len(order))
    limit = options.timeout * 3
    threads, printed = (1, True) if options.printed else (options.threads, False)
    run = run_scoped(jobs, order, threads=threads, timeout=limit, printed=printed, progress=meter.show)
    print(f"{len(run.crashes)} crashes", flush=True)
    blames, innocent = assign_blame(jobs, run.crashes, limit, printed=printed)
    scoped = {**run.outcomes, **innocent}
    judged = [i for i in usable if i in scoped and scoped[i].kind != "refused"]
    differing = [i for i in judged if scoped[i] != expected[i]]
    print(f"{len(differing)} differ; alone and in stock LLVM", flush=True)
    alone = {}
    for i in differing:
        alone[i] = run_scoped(jobs, [i], threads=1, timeout=limit, printed=printed).outcomes.get(i)
    safe = [i for i in usable if expected[i].kind == "output"]
    stability = measure(jobs, differing, safe, options.timeout, options.seed, printed=printed)
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


def _references(jobs: Sequence[Job], cache: ReferenceCache, timeout: float, *, printed: bool) -> None:
    missing = [job for job in jobs if cache.get(job) is None]
    meter = _Meter("fresh processes", len(missing))

    tasks = ((job, partial(reference, job)) for job in missing)
    for number, (job, outcome) in enumerate(run_forked(tasks, timeout, printed=printed), 1):
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
