"""The command: python -m tests.probe."""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
from collections.abc import Iterator, Sequence

from optctx import registry
from tests.conformance.job import Job, compile_job, initialise, source
from tests.probe.jobs import jobs, read_by_jobs
from tests.probe.values import hostile_values
from tests.probe.watching import Case, Finding, findings

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Every option with hostile values, wherever it is read; one line of JSON for each thing it does."""
    parser = argparse.ArgumentParser(prog="python -m tests.probe", description=main.__doc__)
    parser.add_argument("names", nargs="*", help="options (default: all that can be scoped)")
    parser.add_argument("--jobs", type=int, default=6, metavar="N", help="compilations with each value (6)")
    parser.add_argument("--json", metavar="FILE", required=True, help="where the findings go")
    arguments = parser.parse_args(argv)
    initialise()
    known = registry()
    candidates = jobs()
    for job in candidates:
        source(job.path)  # which no child may open
    compile_job(candidates[0])  # and nothing is imported there
    readers = read_by_jobs(list(_surviving(candidates)))
    names = arguments.names or [
        name for name in known if known[name].scope == "thread" and not known[name].alias_of
    ]
    print(f"{len(names)} options, {sum(name in readers for name in names)} of them read", flush=True)
    # Processes, because what is no main thread has the C library open a file when it gives memory back.
    probe = functools.partial(
        _probe, readers={name: _different(readers.get(name, []), arguments.jobs) for name in names}
    )
    with open(arguments.json, "w") as out, multiprocessing.get_context("fork").Pool() as processes:
        for number, found in enumerate(processes.imap(probe, names)):
            for finding in found:
                out.write(json.dumps(_plain(finding)) + "\n")
            if number % 50 == 0:
                out.flush()
                print(number, names[number], flush=True)
    return 0


def _probe(name: str, readers: dict[str, list[Job]]) -> list[Finding]:
    values = hostile_values(registry()[name])
    return list(findings([Case(name, value, job) for job in readers[name] for value in values]))


def _different(found: list[Job], count: int) -> list[Job]:
    """Some of the jobs, as different in target and pipeline as there are."""
    kinds: dict[tuple[str, str, int], Job] = {}
    for job in found:
        kinds.setdefault((job.triple, job.passes, job.opt_level), job)
    distinct = list(kinds.values())
    step = max(1, len(distinct) // count)
    chosen = distinct[::step][:count]
    return chosen + [job for job in found if job not in chosen][: count - len(chosen)]


def _surviving(candidates: list[Job]) -> Iterator[Job]:
    """Those that stock LLVM compiles without a word."""
    dying = {finding.case.job for job in candidates for finding in findings([Case("", "", job)])}
    return (job for job in candidates if job not in dying)


def _plain(finding: Finding) -> dict[str, object]:
    case = finding.case
    job = {key: value for key, value in vars(case.job).items() if value not in ("", (), "default")}
    return {"option": case.name, "value": case.value, "how": finding.how, "words": finding.words, "job": job}
