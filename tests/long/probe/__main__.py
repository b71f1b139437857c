"""The command: python -m tests.long.probe."""

from __future__ import annotations

import argparse
import multiprocessing
import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from evidence.conformance.job import Job, compile_job, initialise, source
from optctx import registry
from tests.long.probe.jobs import jobs, may_be_set, read_by_jobs, tuning_jobs
from tests.long.probe.values import hostile_values
from tests.long.probe.watching import Finding, findings

__all__ = ["main"]

_READERS = 6  # compilations with each value
_BATCH = 64  # commands for one child
T = TypeVar("T")


def main(argv: Sequence[str] | None = None) -> int:
    """Every option with hostile values, wherever it is read; status 1 if one that modules may set misbehaves.

    One line for each thing that an option does beside compiling.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.long.probe", description=main.__doc__)
    words = "the commands of LLVM's own tests instead (Transforms), if modules may set their options"
    parser.add_argument("--llvm-tests", nargs="+", metavar="FOLDER", help=words)
    folders = parser.parse_args(argv).llvm_tests
    initialise()
    wrong = 0
    for job, outcome in _of_tests(folders) if folders else _of_options():
        accepted = may_be_set(job)
        wrong += accepted
        where = job.where or f"{job.path.rpartition('/')[2]} {job.passes} {job.triple}"
        judged = "modules may set " if accepted else ""
        said = " ".join(outcome.printed.split())[:200]
        print(f"{judged}{' '.join(job.options)} in {where}: {outcome.how} {said}", flush=True)
    print(f"{wrong} findings of values that modules may set")
    return int(wrong > 0)


def _of_options() -> Iterator[Finding]:
    names = [name for name, each in registry().items() if each.scope == "thread" and not each.alias_of]
    candidates = jobs()
    _prepare(candidates)
    dying = {job for job in candidates if list(findings([job]))}
    readers = read_by_jobs([job for job in candidates if job not in dying])
    print(f"{len(names)} options, {sum(name in readers for name in names)} of them read", flush=True)
    chance = random.Random(0)
    tried = []
    for name in names:
        # As different in target and pipeline as there are.
        shuffled = chance.sample(found := readers.get(name, []), len(found))
        kinds = {(job.triple, job.passes, job.opt_level): job for job in shuffled}
        chosen = list(dict.fromkeys([*kinds.values(), *shuffled]))[:_READERS]
        options = [(f"-{name}={value}",) for value in hostile_values(registry()[name])]
        tried.append([replace(job, options=each) for job in chosen for each in options])
    yield from _on_processes(_tried, tried)


def _of_tests(folders: Sequence[str]) -> Iterator[Finding]:
    """Without what LLVM does without the options of a command."""
    found = tuning_jobs(folders)
    print(f"{len(found)} commands whose options modules may set", flush=True)
    _prepare(found)
    batches = [found[at : at + _BATCH] for at in range(0, len(found), _BATCH)]
    for job, outcome in _on_processes(_tried, batches):
        if not list(findings([job.bare()])):
            yield job, outcome


def _prepare(found: Sequence[Job]) -> None:
    """Have children open no file and import nothing."""
    for job in found:
        source(job.path)
    compile_job(found[0].bare())


def _on_processes(work: Callable[[T], list[Finding]], parts: Iterable[T]) -> Iterator[Finding]:
    # Not on threads: what is no main thread has the C library open a file when it gives memory back.
    with multiprocessing.get_context("fork").Pool() as processes:
        for found in processes.imap(work, parts):
            yield from found


def _tried(found: Sequence[Job]) -> list[Finding]:
    return list(findings(found))


if __name__ == "__main__":
    sys.exit(main())
