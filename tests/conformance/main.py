"""The command: python -m tests.conformance."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.conformance.audited import find_sightings, sightings_as_json, sightings_as_text
from tests.conformance.cache import ReferenceCache
from tests.conformance.forked import run_forked
from tests.conformance.job import Job, Outcome, initialise
from tests.conformance.judging import Settings, compute_references, judge_all
from tests.conformance.machines import SharedMachines
from tests.conformance.recorded import (
    find_recorded,
    recorded_as_json,
    recorded_as_text,
    removals,
    sensitive_jobs,
)
from tests.conformance.report import as_json, as_text
from tests.conformance.runlines import NeedsValue, read_jobs
from tests.conformance.scoped import Mode, shuffled
from tests.conformance.source import SourceError, default_cache, llvm_tests
from tests.conformance.verdict import option_names

__all__ = ["choose", "leave_for", "main", "make_parser", "read_tests", "value_needs"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit status: 0 if every stable job agrees or is refused by name, the audit saw nothing, and every
    option that changes the output was recorded as read; else 1.

    2 if there is no source.
    """
    parser = make_parser()
    options = parser.parse_args(arguments)
    if options.shared_machines and (options.audit or options.record):
        parser.error("--shared-machines goes with neither --audit nor --record")
    started_in = Path.cwd()
    Mode.process_wide = options.process_wide
    Mode.spoil = options.spoil
    Mode.audit = options.audit
    Mode.record = options.record
    Mode.machines = SharedMachines() if options.shared_machines else None
    options.threads = 1 if options.audit else options.threads
    options.cache = options.cache.resolve()
    try:
        root = options.tests.resolve() if options.tests else llvm_tests(options.cache)
    except SourceError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    jobs, left_out, build_id = read_tests(root, options.folders)
    jobs = choose(jobs, options)
    print(f"{len(jobs)} jobs in {', '.join(options.folders)}", flush=True)
    leave_for(options.cache / "work")
    initialise()
    how = Settings(options.seed, options.threads, options.timeout, options.printed)
    with ReferenceCache(options.cache, build_id, printed=options.printed) as cache:
        verdicts = judge_all(jobs, cache, how)
        recorded = None
        if options.record:
            without = {changed: None for job in sensitive_jobs(verdicts) for _, changed in removals(job)}
            compute_references([*without], cache, options.timeout, printed=options.printed)
            recorded = find_recorded(verdicts, cache)
    settings = {
        name: getattr(options, name)
        for name in (
            *("folders", "limit", "seed", "threads", "timeout"),
            *("printed", "process_wide", "spoil", "audit", "record", "shared_machines"),
        )
    }
    settings["library"] = build_id
    print(as_text(verdicts, left_out))
    if options.audit:
        print(*sightings_as_text(verdicts), "", sep="\n")
    if recorded is not None:
        print(*recorded_as_text(recorded), "", sep="\n")
    if options.json:
        told = as_json(verdicts, left_out, settings)
        if options.audit:
            told["audit"] = sightings_as_json(verdicts)
        if recorded is not None:
            told["record"] = recorded_as_json(recorded)
        (started_in / options.json).write_text(json.dumps(told, indent=1) + "\n")
    return int(
        bool(find_sightings(verdicts))
        or bool(recorded is not None and recorded.missing)
        or any(verdict.verdict in ("differing", "crashed") for verdict in verdicts)
    )


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__)
    parser.add_argument("folders", nargs="*", default=["Transforms", "Analysis", "CodeGen"])
    parser.add_argument("--tests", type=Path, help="a folder with FOLDERs, in place of llvm/test")
    parser.add_argument("--limit", type=int, default=0, help="so many jobs, chosen at random; 0 is all")
    parser.add_argument("--per-option", type=int, default=0, help="so many jobs for each option; 0 is all")
    parser.add_argument("--option", action="append", help="only jobs that set it, or another that is named")
    parser.add_argument("--seed", type=int, default=1, help="of the order of jobs and of the choice")
    parser.add_argument("--threads", type=int, default=2, help="inside contexts at once")
    parser.add_argument(
        "--process-wide", choices=("refuse", "exclusive"), default="refuse", help="as OptionContext takes it"
    )
    parser.add_argument("--spoil", action="store_true", help="spoil the process-wide values first")
    parser.add_argument(
        "--audit", action="store_true", help="report accesses to LLVM's own option storage; one thread"
    )
    parser.add_argument(
        "--record", action="store_true", help="every option that changes the output must be recorded as read"
    )
    parser.add_argument(
        "--shared-machines",
        action="store_true",
        help="one target machine for each triple, processor and other property, used by all contexts",
    )
    parser.add_argument("--printed", action="store_true", help="standard error counts, too; one thread")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds for one job in a fresh process")
    parser.add_argument("--cache", type=Path, default=default_cache(), help="where LLVM's tests are kept")
    parser.add_argument("--json", type=Path, help="write the whole report there")
    return parser


def leave_for(folder: Path) -> None:
    """Some passes write files into the current folder, and some print its name."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)


def choose(jobs: list[Job], options: argparse.Namespace) -> list[Job]:
    """A part of the jobs: with certain options; at random so many in all, or so many for every option."""
    chosen: list[int] = []
    count: Counter[str] = Counter()
    for index in shuffled(len(jobs), options.seed):
        names = option_names(jobs[index])
        if options.option and not set(options.option) & set(names):
            continue
        if options.per_option and min(count[name] for name in names) >= options.per_option:
            continue
        chosen.append(index)
        count.update(names)
    return [jobs[index] for index in sorted(chosen[: options.limit or None])]


def value_needs() -> NeedsValue:
    """Whether an option takes a value. Attaches."""
    from optctx.context.text import needs_value
    from optctx.engine.attach import attach

    engine = attach()

    def needs(name: str) -> bool | None:
        option = engine.options.get(name)
        return None if option is None else needs_value(engine.resolve(option))

    return needs


def read_tests(root: Path, folders: Sequence[str]) -> tuple[list[Job], Counter[str], str]:
    """(jobs, what was left out and why, the library's build ID).

    In a child, because reading the registry attaches and this process must stay stock.
    """

    def work() -> Any:
        from optctx.engine.attach import attach

        return (*read_jobs(root, folders, value_needs()), attach().image.build_id)

    [(_, found)] = run_forked([(0, work)], timeout=600.0)
    if isinstance(found, Outcome):
        raise RuntimeError(f"cannot read the tests: {found.text}")
    return found
